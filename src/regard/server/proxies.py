"""The address of a client behind trusted proxies, and the path under which a proxy offers the server."""

import ipaddress
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import Scope

from regard.server.errors import ServeError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Proxies:
    """The proxies whose headers are believed."""

    def __init__(self, trusted: Sequence[str], *, is_unix_socket: bool = False) -> None:
        """On a UNIX socket, only a proxy can be the peer, so it is trusted."""
        self._networks = [_network(one) for one in trusted]
        self._is_unix_socket = is_unix_socket

    def client_address(self, scope: Scope, headers: Headers) -> str:
        """Return the address of the client: the last one that no trusted proxy has."""
        address = scope["client"][0] if scope.get("client") else ""
        if not self._trusts(address):
            return address
        # Of several headers with this name, the proxy has added the last one.
        for forwarded in reversed(",".join(headers.getlist("x-forwarded-for")).split(",")):
            address = forwarded.strip() or address
            if not self._trusts(address):
                break
        return address

    def scheme(self, scope: Scope, headers: Headers) -> str:
        """Return the scheme that the client used."""
        address = scope["client"][0] if scope.get("client") else ""
        forwarded = "".join(headers.getlist("x-forwarded-proto")[-1:]).strip().lower()
        return forwarded if forwarded in ("http", "https") and self._trusts(address) else str(scope["scheme"])

    def _trusts(self, address: str) -> bool:
        if not address:
            return self._is_unix_socket
        parsed = _address(address)
        return parsed is not None and any(parsed in network for network in self._networks)


def set_path(scope: Scope, root_path: str) -> None:
    """Set the root path of a request, whether or not the proxy has removed it from the path."""
    if root_path:
        if not scope["path"].startswith(root_path + "/"):
            scope["path"] = root_path + scope["path"]
        scope["root_path"] = root_path


def path_of(scope: Scope) -> str:
    """Return the path of a request without the root path."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def rate_subject(address: str) -> str:
    """Return what a limit for an address counts: an IPv4 address, or the /64 network of an IPv6 address."""
    parsed = _address(address)
    if parsed is None or parsed.version == 4:
        return address if parsed is None else str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address, an IPv4 address also if it is written as an IPv6 one; None for other texts."""
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ServeError(f"serve.trusted_proxies: {text!r} is not an address or a network such as 10.0.0.0/8") from None

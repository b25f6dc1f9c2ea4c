"""Which Host and Origin headers a request may have, against DNS rebinding and web pages of others.

A web page can make the browser of its reader send requests to a server on the reader's machine. The browser then names
the host under which it reached the server, and the origin of the page.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

_EXTENSION = "-extension://"  # chrome-extension://, moz-extension://, safari-web-extension://

_DEFAULT_PORTS = (":80", ":443")


@dataclass(frozen=True)
class OriginRules:
    """The names under which a server may be called, and the origins of pages that may call it."""

    hosts: Sequence[str]  # none: loopback names only, or any
    origins: Sequence[str]
    only_loopback: bool  # whether the server listens on a loopback address

    def allows_host(self, host: str) -> bool:
        """Return whether a request may name this host. Clients that are no browsers may leave it out."""
        if not host:
            return True
        name = _without_port(host).lower().rstrip(".")
        if self.hosts:
            return name in (one.lower().rstrip(".") for one in self.hosts)
        return not self.only_loopback or is_loopback_name(name)

    def allows_origin(self, origin: str | None, host: str) -> bool:
        """Return whether a page of this origin may call the server under this host name."""
        if not origin or self.shares_with(origin) or _is_extension(origin):
            return True
        return bool(host) and _authority(origin) == _without_default_port(host.lower())

    def shares_with(self, origin: str | None) -> bool:
        """Return whether pages of this origin may read answers, which the answers must then say."""
        return origin is not None and (origin in self.origins or "*" in self.origins)


@lru_cache(1_000)
def is_loopback_name(name: str) -> bool:
    """Return whether a host name or address is the machine itself."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_extension(origin: str) -> bool:
    # Only an extension of the browser can have such an origin.
    return _EXTENSION in origin and urlsplit(origin).scheme.endswith("-extension")


def _authority(origin: str) -> str | None:
    scheme, separator, authority = origin.lower().partition("://")
    return _without_default_port(authority) if separator and scheme in ("http", "https") else None


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[: host.find("]") + 1] or host
    return host.partition(":")[0] if host.count(":") == 1 else host


def _without_default_port(host: str) -> str:
    for port in _DEFAULT_PORTS:
        host = host.removesuffix(port)
    return host

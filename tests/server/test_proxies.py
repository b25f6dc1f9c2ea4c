"""The address of a client behind proxies, and the root path."""

import pytest
from starlette.datastructures import Headers

from regard.server.errors import ServeError
from regard.server.proxies import Proxies, set_path


def scope(address: str | None) -> dict:
    return {"client": (address, 1234) if address else None, "scheme": "http", "path": "/"}


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.9", "198.51.100.7", "192.0.2.9"),  # not a proxy, so it is not believed
        ("10.1.2.3", "198.51.100.7", "198.51.100.7"),
        ("10.1.2.3", "203.0.113.1, 198.51.100.7", "198.51.100.7"),  # the client has made up the first one
        ("10.1.2.3", "198.51.100.7, 10.9.9.9", "198.51.100.7"),
        ("10.1.2.3", "", "10.1.2.3"),
        ("::ffff:10.1.2.3", "198.51.100.7", "198.51.100.7"),
        ("10.1.2.3", "10.0.0.1", "10.0.0.1"),
    ],
)
def test_the_client_is_the_last_address_that_is_no_proxy(peer: str, forwarded: str, address: str):
    proxies = Proxies(("10.0.0.0/8",))
    assert proxies.client_address(scope(peer), Headers({"x-forwarded-for": forwarded})) == address


def test_headers_of_the_client_come_before_those_of_the_proxy():
    names = (b"x-forwarded-for", b"x-forwarded-proto")
    sent = [
        (name, value)
        for values in ((b"6.6.6.6", b"http"), (b"203.0.113.9", b"https"))
        for name, value in zip(names, values, strict=True)
    ]
    proxies = Proxies(("10.0.0.0/8",))
    assert proxies.client_address(scope("10.1.2.3"), Headers(raw=sent)) == "203.0.113.9"
    assert proxies.scheme(scope("10.1.2.3"), Headers(raw=sent)) == "https"


def test_behind_a_unix_socket_is_a_proxy():
    proxies = Proxies((), is_unix_socket=True)
    headers = Headers({"x-forwarded-for": "203.0.113.1, 198.51.100.7", "x-forwarded-proto": "https"})
    assert proxies.client_address(scope(None), headers) == "198.51.100.7"
    assert proxies.scheme(scope(None), headers) == "https"


def test_the_scheme_of_a_client_that_is_no_proxy_is_not_believed():
    assert Proxies(("10.0.0.1",)).scheme(scope("192.0.2.9"), Headers({"x-forwarded-proto": "https"})) == "http"
    assert Proxies(("10.0.0.1",)).scheme(scope("10.0.0.1"), Headers({"x-forwarded-proto": "javascript"})) == "http"


def test_a_wrong_address_is_refused():
    with pytest.raises(ServeError, match=r"'10\.0\.0\.300' is not an address or a network"):
        Proxies(("10.0.0.300",))


@pytest.mark.parametrize("path", ["/translate", "/prefix/translate"])
def test_the_root_path_may_be_removed_by_the_proxy_or_not(path: str):
    request = scope("10.0.0.1") | {"path": path}
    set_path(request, "/prefix")
    assert (request["path"], request["root_path"]) == ("/prefix/translate", "/prefix")

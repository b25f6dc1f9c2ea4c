"""The document of the page and its files: what they load, what browsers may keep, and that data cannot change them."""

import re
from pathlib import Path

import pytest
from tests.server.running import RunningServer

from regard.page.assets import imported_modules, served_files
from regard.server.routes import web_page
from regard.server.routes.web_page import _document, _escaped
from regard.server.service import Service
from regard.settings.serve import ServeSettings


def test_the_document_and_all_files_it_names_are_served_with_a_strict_policy(server: RunningServer) -> None:
    response = server.get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';") and "unsafe" not in policy
    assert "{{" not in response.text and " style=" not in response.text and "onload" not in response.text
    # The only script in the document is data, and the others come from this server.
    assert re.findall(r"<script([^>]*)>[^<]", response.text) == [' type="application/json" id="server"']
    addresses = re.findall(r'(?:href|src)="([^"]+)"', response.text)
    names = {address.rpartition("/")[2] for address in addresses}
    assert {"base.css", "translate.css", "icon.svg", *imported_modules("translate.js")} == names
    for address in addresses:
        file = server.get(f"/{address}")
        assert file.content == served_files()[address.rpartition("/")[2]]
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_a_browser_keeps_what_has_not_changed(server: RunningServer) -> None:
    first = server.get("/")
    assert first.headers["cache-control"] == "no-cache"
    again = server.get("/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    # A document of an earlier version still finds its modules, but does not keep them.
    old = server.get("/static/0123456789ab/translate.js")
    assert (old.status_code, old.headers["cache-control"]) == (200, "no-cache")
    plain = server.get("/static/0123456789ab/translate.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.content == old.content


def test_other_files_are_not_served(server: RunningServer) -> None:
    for path in ("/static/x/assets.py", "/static/x/page.html", "/static/x/..%2Fapi.py", "/static/translate.js"):
        assert server.get(path).status_code == 404


def test_the_files_of_the_document_are_read_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(ServeSettings(models=(str(tiny),)))
    first = _document(service)
    monkeypatch.setattr(web_page, "read_asset", None)
    monkeypatch.setattr(web_page, "imported_modules", None)
    assert _document(service) == first


def test_data_cannot_end_its_script_element() -> None:
    assert _escaped({"name": "</script><!--"}) == '{"name": "\\u003c/script>\\u003c!--"}'

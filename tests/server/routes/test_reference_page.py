"""The documentation of our interface, made from its schema."""

import html
import re

from tests.server.running import RunningServer


def test_every_route_field_and_object_is_documented(server: RunningServer) -> None:
    schema = server.get("/v1/openapi.json").json()
    page = server.get("/v1/docs").text
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    for path, operations in schema["paths"].items():
        assert f"POST {path}" in text or f"GET {path}" in text
        assert all(operation["description"] in text for operation in operations.values())
    for name, each in schema["components"]["schemas"].items():
        assert f'id="{name}"' in page
        assert all(field["description"] in text for field in each["properties"].values() if "description" in field)


def test_the_page_loads_nothing(server: RunningServer) -> None:
    page = server.get("/v1/docs").text
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<link|<img|src=|@import|url\(", page)
    assert set(re.findall(r'href="([^"#]+)', page)) == {"openapi.json"}


def test_every_object_is_described(server: RunningServer) -> None:
    """The schema of a field without a description would be an empty row of the page."""
    schemas = server.get("/v1/openapi.json").json()["components"]["schemas"]
    assert all(each.get("description") for each in schemas.values())

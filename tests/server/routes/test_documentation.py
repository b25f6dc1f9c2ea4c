"""The examples of docs/reference/http-api.md print what the page shows."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.server.running import RunningServer

EXAMPLE = re.compile(r"```sh\n(.*?)```\n\n```json\n(.*?)```\n", re.DOTALL)
ADDRESS = "http://127.0.0.1:5000"


def comparable(value: Any) -> Any:
    """Return a value without what differs between servers: numbers with decimals, and random names."""
    match value:
        case dict():
            return {name: comparable(each) for name, each in value.items()}
        case list():
            return [comparable(each) for each in value]
        case float():
            return "a number"
        case str():
            return re.sub(r"[0-9A-F]{32,}", "a random name", value)
    return value


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="the examples use curl")
def test_the_examples(server: RunningServer, repository: Path, tmp_path: Path) -> None:
    page = (repository / "docs" / "reference" / "http-api.md").read_text("utf-8")
    examples = EXAMPLE.findall(page)
    assert len(examples) == page.count("```sh\n") > 10
    for command, shown in examples:
        found = subprocess.run(
            ["bash", "-c", command.replace("curl ", "curl -s ").replace(ADDRESS, server.url)],
            capture_output=True,
            check=True,
            cwd=tmp_path,
        )
        answer = found.stdout.decode().replace(server.url, ADDRESS)
        assert comparable(json.loads(answer)) == comparable(json.loads(shown)), command


def test_every_route_is_documented(server: RunningServer, repository: Path) -> None:
    page = (repository / "docs" / "reference" / "http-api.md").read_text("utf-8")
    for place in ("/v1/openapi.json", "/spec"):
        assert all(path in page for path in server.get(place).json()["paths"])


def test_the_published_schema_is_that_of_the_server(server: RunningServer, repository: Path) -> None:
    published = repository / "docs" / "reference" / "v1-openapi.json"
    schema = server.get("/v1/openapi.json").json()
    if os.environ.get("ACCEPT_INTERFACE"):
        published.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n", "utf-8")
    advice = "if the change was decided: ACCEPT_INTERFACE=1 pytest THIS-FILE, and python tools/reference_pages.py"
    assert json.loads(published.read_text("utf-8")) == schema, advice

"""The page for operators names only settings, flags, metrics and files that exist."""

import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from regard.cli.commands.serve import serve
from regard.server.config import read_configuration
from regard.server.metrics import Metrics
from regard.settings.serve import ServeSettings


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "how-to" / "serving.md").read_text("utf-8")


def test_the_metrics_are_all_of_the_server(page: str) -> None:
    listed = re.findall(r"^\| `(regard_\w+)` \| (.+) \|$", page, re.MULTILINE)
    existing = [
        (metric.name + ("_total" if metric.type == "counter" else ""), metric.documentation)
        for metric in Metrics().registry.collect()
    ]
    assert listed == existing


def test_the_configuration_is_accepted(page: str, tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.+?)```", page, re.DOTALL)
    (tmp_path / "serve.toml").write_text(example)
    configuration = read_configuration({}, (), tmp_path / "serve.toml", {})
    assert configuration.settings.char_limit == tomllib.loads(example)["serve"]["char_limit"]
    assert configuration.decode == {"beam_size": 2}


def test_flags_and_defaults_exist(page: str) -> None:
    flags = {option for one in [serve, *serve.commands.values()] for each in one.params for option in each.opts}
    commands = re.findall(r"^.*regard serve.*$|^    regard --model.*$", page, re.MULTILINE)
    used = {flag for line in commands for flag in re.findall(r"(?<= )--[a-z-]+", line.partition("#")[0])}
    assert used <= flags, used - flags
    names = {field.name for field in fields(ServeSettings)}
    settings = ServeSettings()
    for name, shown in re.findall(r"`(\w+)`\s\(([\d,]+)\)", page):
        assert name in names
        assert getattr(settings, name) == float(shown.replace(",", ""))


def test_files_that_are_named_exist(page: str, repository: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page):
        assert (repository / "docs" / "how-to" / link).exists(), link


def test_the_example_of_a_log_line_has_the_fields_of_one(page: str, repository: Path) -> None:
    [example] = re.findall(r"```json\n(.+?)\n```", page, re.DOTALL)
    source = (repository / "src" / "regard" / "server" / "request_log.py").read_text()
    assert list(json.loads(example)) == re.findall(r'^            "(\w+)": ', source, re.MULTILINE)

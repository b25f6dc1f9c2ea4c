"""The image runs without rights, from pinned parts, and without secrets; this is checked without building it."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from dockerfile_parse import DockerfileParser

_BASE = re.compile(r"python:3\.\d+-slim-bookworm@sha256:[0-9a-f]{64}")


@pytest.fixture(scope="module")
def stages(repository: Path) -> list[list[dict[str, str]]]:
    """The instructions of each stage, from its FROM on."""
    with (repository / "deploy" / "Dockerfile").open("rb") as file:
        structure: list[dict[str, str]] = DockerfileParser(fileobj=file).structure
    found: list[list[dict[str, str]]] = []
    for one in structure:
        if one["instruction"] == "FROM":
            found.append([])
        if found:
            found[-1].append(one)
    return found


def values(stage: list[dict[str, str]], instruction: str) -> list[str]:
    return [one["value"] for one in stage if one["instruction"] == instruction]


def test_two_stages_of_the_same_pinned_base(stages: list[list[dict[str, str]]]) -> None:
    first, second = (values(stage, "FROM")[0] for stage in stages)
    assert first == f"{second} AS build"
    assert _BASE.fullmatch(second)


def test_only_packages_with_known_hashes_are_installed(stages: list[list[dict[str, str]]]) -> None:
    build, final = stages
    downloads, own, *_ = [run for run in values(build, "RUN") if " install " in run]
    assert "--require-hashes" in downloads and "--only-binary :all:" in downloads
    assert "--no-deps" in own and "--no-index" in own
    assert not values(final, "RUN")
    assert values(final, "COPY") == ["--from=build /opt/regard /opt/regard"]


def test_the_container_has_no_rights_and_no_secrets(stages: list[list[dict[str, str]]]) -> None:
    final = stages[-1]
    assert values(final, "USER") == ["10001:10001"]
    names = [one["instruction"] for one in final]
    assert names.index("USER") < names.index("ENTRYPOINT")
    for stage in stages:
        assert not values(stage, "ARG") and not values(stage, "ADD")
        for assignment in values(stage, "ENV"):
            assert not re.search("key|secret|token|password", assignment, re.IGNORECASE)


def test_it_serves_and_is_checked(stages: list[list[dict[str, str]]]) -> None:
    final = stages[-1]
    assert json.loads(values(final, "ENTRYPOINT")[0]) == ["regard", "serve"]
    assert "REGARD_SERVE_HOST=0.0.0.0" in " ".join(values(final, "ENV"))
    assert values(final, "STOPSIGNAL") == ["SIGTERM"]
    options, _, command = values(final, "HEALTHCHECK")[0].partition(" CMD ")
    python, flag, program = json.loads(command)
    assert (python, flag) == ("python", "-c")
    compile(program, "HEALTHCHECK", "exec")
    assert "/readyz" in program and "urllib.request" in program and "--start-period" in options


def test_the_context_has_what_is_copied(stages: list[list[dict[str, str]]], repository: Path) -> None:
    ignored = (repository / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in ignored
    for copied in values(stages[0], "COPY"):
        for name in copied.split()[:-1]:
            assert (repository / name).exists()
            assert f"!{name}" in ignored


def test_the_hashed_versions_are_the_tested_ones(repository: Path) -> None:
    text = (repository / "deploy" / "requirements.txt").read_text()
    hashed = {}
    for entry in re.findall(r"^(\S+)==(\S+) \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE):
        hashed[_normal(entry[0])] = entry[1].removesuffix("+cpu")
    assert len(hashed) == len(re.findall(r"^[a-zA-Z]", text, re.MULTILINE))
    tested = dict(re.findall(r"^(\S+)==(\S+)$", (repository / "constraints.txt").read_text(), re.MULTILINE))
    tested = {_normal(name): version for name, version in tested.items()}
    assert {name: tested.get(name) for name in hashed} == hashed
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    assert {_normal(re.split(r"[^\w.-]", one)[0]) for one in needed} <= set(hashed)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_compose_file_keeps_the_container_closed(repository: Path) -> None:
    service: dict[str, Any] = yaml.safe_load((repository / "deploy" / "compose.yaml").read_text())["services"]["regard"]
    assert service["read_only"] is True and service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["build"] == {"context": "..", "dockerfile": "deploy/Dockerfile"}

"""Unmodified clients, and LibreTranslate's own tests of its interface, with a real server.

The clients are run by the tests in tests/server/routes/, those of Node and those that are installed apart included. The
tests of LibreTranslate come from its package; only their `client` is another one, which asks the server.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from campaigns.outcome import Outcome
from common.environments import ROOT

from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{clients} unmodified clients ({names}) in {tests} tests: {passed} passed, {skipped} skipped; {peer_passed} of "
    "{peer_tests} of LibreTranslate {version}'s own tests of its interface passed."
)

_TESTS = ("tests/server/routes/test_python_clients.py", "tests/server/routes/test_node_clients.py")
_CLIENTS = (
    "libretranslatepy, argostranslate, translate, deep-translator, deepl and its command line; translate, "
    "libretranslate, libretranslate-ts, @translate-tools/core, deepl-node"
)
_VERSION = "1.9.6"
_LANGUAGES = '"es"', '"fr"'  # the tests translate from English to Spanish, which the bundled models do not

_CONFTEST = """\
import os
from types import SimpleNamespace

import pytest
import requests


@pytest.fixture
def client():
    def ask(method, path, **fields):
        answer = requests.request(method, os.environ["SERVER"] + path, timeout=60, **fields)
        is_json = answer.headers["Content-Type"] == "application/json"
        json = answer.json() if is_json else None
        return SimpleNamespace(status_code=answer.status_code, data=answer.content, json=json)

    return SimpleNamespace(
        get=lambda path, **fields: ask("GET", path, **fields), post=lambda path, **fields: ask("POST", path, **fields)
    )
"""


def run(server: ServerProcess, count: int) -> Outcome:
    """Run all tests; the count has no effect."""
    outcome = Outcome({"clients": 1 + _CLIENTS.count(", ") + _CLIENTS.count("; "), "names": _CLIENTS})
    passed, skipped, total = _run_tests([ROOT / path for path in _TESTS], ROOT, server, outcome)
    outcome.facts |= {"tests": total, "passed": passed, "skipped": skipped, "version": _VERSION}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package = f"libretranslate=={_VERSION}"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", name, package]
        subprocess.run(command, check=True)
        tests = folder / "libretranslate" / "tests" / "test_api"
        (tests / "conftest.py").write_text(_CONFTEST, "utf-8")
        for file in tests.glob("test_*.py"):
            file.write_text(file.read_text("utf-8").replace(*_LANGUAGES), "utf-8")
        passed, _, total = _run_tests([tests], tests, server, outcome)
    outcome.facts |= {"peer_passed": passed, "peer_tests": total}
    return outcome


def _run_tests(paths: list[Path], folder: Path, server: ServerProcess, outcome: Outcome) -> tuple[int, int, int]:
    """Run tests, and return how many passed, were skipped, and there are."""
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        environment = {**os.environ, "SERVER": server.url}
        subprocess.run([*command, *map(str, paths)], cwd=folder, env=environment, capture_output=True, check=False)
        cases = list(ElementTree.parse(report).iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    for test in failed:
        outcome.fault(f"{test} failed")
    skipped = sum(case.find("skipped") is not None for case in cases)
    outcome.check(bool(cases), "there are no tests")
    return len(cases) - len(failed) - skipped, skipped, len(cases)

"""Unmodified JavaScript clients of LibreTranslate and DeepL, run by Node."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.server.routes.conftest import Translate
from tests.server.running import RunningServer

pytestmark = pytest.mark.slow

PACKAGES = (
    "@translate-tools/core@2.1.0",
    "deepl-node@1.28.0",
    "libretranslate@1.0.1",
    "libretranslate-ts@0.5.12",
    "translate@3.1.0",
)
CACHE = Path.home() / ".cache" / "regard-test-clients" / "node"

TIRED, CAT = "I am tired.", "Where is the cat?"


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder of the packages, which npm installs once."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("no Node: install node and npm to test the JavaScript clients")
    installed = CACHE / "installed.json"
    if not installed.exists() or json.loads(installed.read_text()) != list(PACKAGES):
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "package.json").write_text("{}")
        found = subprocess.run(["npm", "install", "--no-audit", *PACKAGES], cwd=CACHE, capture_output=True, text=True)
        if found.returncode:
            pytest.skip(f"npm cannot install {' '.join(PACKAGES)}: {found.stderr.strip()[-300:]}")
        installed.write_text(json.dumps(PACKAGES))
    return CACHE


@pytest.fixture(scope="module")
def results(server: RunningServer, packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    script = Path(__file__).with_name("node_clients.cjs")
    command = ["node", str(script), server.url, str(packages), str(tmp_path_factory.mktemp("files"))]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.fixture(scope="module")
def french(expected: Translate) -> list[str]:
    return [expected(TIRED), expected(CAT)]


def test_translate(results: Any, french: list[str]) -> None:
    assert results["translate"] == french


def test_libretranslate(results: Any, french: list[str]) -> None:
    assert results["libretranslate"] == [french[0]] * 2


def test_libretranslate_ts(results: Any, french: list[str]) -> None:
    found = results["libretranslateTs"]
    assert [each["targets"] for each in found["languages"]] == [["en", "fr"]] * 2
    assert (found["detected"]["language"], found["detected"]["confidence"]) == ("en", 100)
    assert found["translated"]["translatedText"] == french[0]
    assert len(found["alternatives"]["alternatives"]) == 2
    assert found["wrong"]["error"] == "zz is not supported"


def test_translate_tools(results: Any, french: list[str]) -> None:
    assert results["translateTools"] == [french[0], french]


def test_deepl(results: Any, french: list[str]) -> None:
    found = results["deepl"]
    assert [each["text"] for each in found["translated"]] == french
    assert [each["billedCharacters"] for each in found["translated"]] == [len(TIRED), len(CAT)]
    assert found["tags"]["text"] == "Je suis <b>fatigué</b>."
    assert [each["code"] for each in found["sources"]] == ["en", "fr"]
    assert [each["code"] for each in found["targets"]] == ["en-GB", "en-US", "fr"]
    assert found["usage"]["character"]["limit"] == 1_000_000_000_000
    assert found["glossaries"] == found["pairs"] == []
    assert (found["document"]["status"], found["file"]) == ("done", "\n".join(french))

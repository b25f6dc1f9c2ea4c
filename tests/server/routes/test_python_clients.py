"""Unmodified Python clients of LibreTranslate and DeepL, and the command line of DeepL's."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import deepl
import libretranslatepy
import pytest
import translate
from deep_translator import LibreTranslator
from tests.server.routes.conftest import Translate
from tests.server.running import RunningServer

TIRED = "I am tired."
CAT = "Where is the cat?"


@pytest.fixture
def client(server: RunningServer) -> Iterator[deepl.DeepLClient]:
    client = deepl.DeepLClient("key", server_url=server.url)
    yield client
    client.close()


def test_libretranslatepy(server: RunningServer, expected: Translate) -> None:
    for key in (None, "k1"):
        api = libretranslatepy.LibreTranslateAPI(server.url, key)
        assert api.translate(TIRED, "en", "fr") == expected(TIRED)
        assert api.detect(TIRED)[0] == {"confidence": 100, "language": "en"}
        assert [each["code"] for each in api.languages()] == ["en", "fr"]


def test_translate(server: RunningServer, expected: Translate) -> None:
    for source in ("en", "autodetect"):
        client = translate.Translator("fr", source, provider="libre", base_url=server.url, secret_access_key=None)
        assert client.translate(TIRED) == expected(TIRED)


def test_deep_translator(server: RunningServer, expected: Translate, tmp_path: Path) -> None:
    client = LibreTranslator(source="en", target="fr", api_key="k", custom_url=f"{server.url}/")
    assert client.translate(TIRED) == expected(TIRED)
    assert client.translate_batch([TIRED, CAT]) == [expected(TIRED), expected(CAT)]
    long = " ".join([CAT] * 120)
    assert client.translate(long) == expected(long)  # in the request line
    file = tmp_path / "notes.txt"
    file.write_text(CAT)
    assert client.translate_file(str(file)) == expected(CAT)
    automatic = LibreTranslator(source="auto", target="French", api_key="k", custom_url=f"{server.url}/")
    assert automatic.translate(TIRED) == expected(TIRED)


def test_deepl_texts(client: deepl.DeepLClient, expected: Translate) -> None:
    one = client.translate_text(TIRED, target_lang="FR")
    assert isinstance(one, deepl.TextResult)
    assert (one.text, one.detected_source_lang, one.billed_characters) == (expected(TIRED), "EN", 11)
    several = client.translate_text([TIRED, CAT], source_lang="EN", target_lang="FR", split_sentences="0")
    assert isinstance(several, list)
    assert [each.text for each in several] == [expected(TIRED), expected(CAT)]


def test_deepl_lists_and_counts(client: deepl.DeepLClient) -> None:
    assert [each.code for each in client.get_source_languages()] == ["EN", "FR"]
    assert [each.code for each in client.get_target_languages()] == ["EN-GB", "EN-US", "FR"]
    usage = client.get_usage()
    assert usage.character.valid and not usage.any_limit_reached
    assert client.list_glossaries() == []
    assert client.get_glossary_languages() == []
    with pytest.raises(deepl.DeepLException, match="Unsupported glossary source/target language pair"):
        client.create_glossary("name", "EN", "FR", {"cat": "chat"})
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary("1")


def test_deepl_errors(client: deepl.DeepLClient) -> None:
    with pytest.raises(deepl.DeepLException, match="Value for 'target_lang' not supported"):
        client.translate_text(TIRED, target_lang="DE")
    with pytest.raises(deepl.DeepLException, match=r"files of the type \.docx cannot be translated"):
        client.translate_document(b"a", None, filename="a.docx", target_lang="FR")


def test_deepl_documents(client: deepl.DeepLClient, expected: Translate, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(f"{TIRED}\n{CAT}\n")
    status = client.translate_document_from_filepath(tmp_path / "in.txt", tmp_path / "out.txt", target_lang="FR")
    assert status.done and status.billed_characters == 28
    assert (tmp_path / "out.txt").read_text() == f"{expected(TIRED)}\n{expected(CAT)}\n"


def deepl_command(server: RunningServer, *arguments: object) -> str:
    command = [sys.executable, "-m", "deepl", "--server-url", server.url, "--auth-key", "k", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_command_line_of_deepl(server: RunningServer, expected: Translate, tmp_path: Path) -> None:
    assert deepl_command(server, "text", "--to", "fr", TIRED, CAT) == f"{expected(TIRED)}\n{expected(CAT)}\n"
    assert "Characters: 0 of" in deepl_command(server, "usage")
    assert "EN-US: English (American)" in deepl_command(server, "languages")
    (tmp_path / "in.txt").write_text(CAT)
    deepl_command(server, "document", "--to", "fr", tmp_path / "in.txt", tmp_path / "translated")
    assert (tmp_path / "translated" / "in.txt").read_text() == expected(CAT)


@pytest.mark.slow
def test_clients_that_are_installed_apart(
    server: RunningServer, expected: Translate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Argos Translate needs another torch, and the package `translate` an older version of libretranslatepy."""
    packages = ["argostranslate==1.11.0", "libretranslatepy==2.1.4"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), *packages]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        pytest.skip(f"pip cannot install {' '.join(packages)}: {found.stderr.strip()[-200:]}")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("libretranslatepy")]:
        monkeypatch.delitem(sys.modules, name)
    for module in ("argostranslate.apis", "libretranslatepy"):
        package = importlib.import_module(module)
        assert str(tmp_path) in str(package.__file__)
        api = package.LibreTranslateAPI(server.url, "k1")
        assert api.translate(TIRED, "en", "fr") == expected(TIRED)
        assert api.detect(TIRED)[0]["language"] == "en"
        assert [each["code"] for each in api.languages()] == ["en", "fr"]

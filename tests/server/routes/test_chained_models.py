"""Two models, one after the other, translate between languages that no single model connects."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import deepl
import pytest
from tests.server.routes.conftest import Translate
from tests.server.running import RunningServer

from regard.model_folder import bundled
from regard.model_folder.folder import HASHED
from regard.storage.manifest import write_manifest

TIRED = "I am tired."


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of en-fr, and of fr-en under other languages: it says that it translates from French to German."""
    folder = tmp_path_factory.mktemp("models") / "fr-de"
    shutil.copytree(bundled.for_languages(("fr", "en")), folder)
    settings = json.loads((folder / "settings.json").read_text())
    (folder / "settings.json").write_text(json.dumps({**settings, "directions": [["fr", "de"]]}))
    (folder / "language_profiles.json").unlink()
    write_manifest(folder, HASHED)
    server = RunningServer.start("--model", Path("en-fr"), "--model", folder)
    yield server
    server.end()


@pytest.fixture(scope="module")
def german(expected: Translate) -> str:
    return expected(expected(TIRED), "fr", "en")


def test_libretranslate(chained: RunningServer, german: str) -> None:
    response = chained.translate(TIRED, target="de")
    assert response.json()["translatedText"] == german
    assert response.headers["X-Regard-Pivot"] == "fr"
    targets = {each["code"]: each["targets"] for each in chained.get("/languages").json()}
    assert targets == {"de": ["de"], "en": ["de", "en", "fr"], "fr": ["de", "fr"]}
    missing = chained.translate(TIRED, source="fr", target="en")
    message = "English (en) is not available as a target language from French (fr)"
    assert (missing.status_code, missing.json()) == (400, {"error": message})
    identified = chained.translate("Je suis fatigué.", source="auto", target="en")
    assert (identified.status_code, identified.json()) == (400, {"error": message})
    marked = chained.post("/translate", json={"q": f"<p>{TIRED}</p>", "source": "en", "target": "de", "format": "html"})
    assert marked.json()["translatedText"] == f"<p>{german}</p>"


def test_deepl(chained: RunningServer, german: str) -> None:
    client = deepl.DeepLClient("key", server_url=chained.url)
    found = client.translate_text(TIRED, target_lang="DE")
    assert isinstance(found, deepl.TextResult) and found.text == german
    assert [each.code for each in client.get_target_languages()] == ["DE", "FR"]
    with pytest.raises(deepl.DeepLException, match="is not available as a target language from"):
        client.translate_text("Bonjour", source_lang="FR", target_lang="EN-US")
    client.close()


def test_ours(chained: RunningServer, german: str) -> None:
    body = {"text": TIRED, "target": "de", "words": True}
    [found] = chained.post("/v1/translate", json=body).json()["translations"]
    assert [found[name] for name in ("text", "models", "pivot")] == [german, ["en-fr", "fr-de"], "fr"]
    assert [word["text"] for word in found["words"]] == german.split()
    sources = [found["source_words"][number]["text"] for word in found["words"] for number in word["source"]]
    assert sources == ["am", "tired."]  # of the words of the text between, "Je suis fatigué.", two have links


def test_what_is_protected_stays_through_both_models(chained: RunningServer) -> None:
    tag = "<code>a &lt; b</code>"
    body = {"q": f"<p>Have you <b>ever</b> seen {tag}?</p>", "source": "en", "target": "de", "format": "html"}
    text = chained.post("/translate", json=body).json()["translatedText"]
    assert tag in text and text.count("&lt;") == 1 and text.count("<b>") == 1 and "keep" not in text

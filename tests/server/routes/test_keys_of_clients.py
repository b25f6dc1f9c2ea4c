"""Keys as clients send them, and what clients make of a missing key, a wrong key, and a quota that is used up."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError

import deepl
import libretranslatepy
import pytest
from tests.server.running import RunningServer

from regard.server.keys import add_key

FIELDS = {"q": "the cat", "source": "en", "target": "xx"}


@dataclass
class Keyed:
    server: RunningServer
    free: str  # a key without limits
    limited: str  # a key for 100 characters a month


@pytest.fixture(scope="module")
def keyed(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    keys = tmp_path_factory.mktemp("keys") / "keys.toml"
    free, limited = add_key(keys, "free", {}), add_key(keys, "limited", {"characters_per_month": 100})
    server = RunningServer.start("--model", tiny, "--keys", keys)
    yield Keyed(server, free, limited)
    server.end()


def deepl_client(keyed: Keyed, key: str) -> deepl.DeepLClient:
    return deepl.DeepLClient(key, server_url=keyed.server.url)


def test_every_place_of_a_key(keyed: Keyed) -> None:
    server, key = keyed.server, keyed.free
    answers = [
        server.post("/translate", data={**FIELDS, "api_key": key}),
        server.post("/translate", json={**FIELDS, "apiKey": key}),
        server.post("/translate", params={**FIELDS, "api_key": key}),
        server.post("/translate", params={"token": key}, json=FIELDS),
        server.post("/translate", json={**FIELDS, "key": key}),
        server.post("/translate", json=FIELDS, headers={"KEY": key}),
        server.post("/translate", json=FIELDS, headers={"Authorization": f"Bearer {key}"}),
        server.post("/translate", files={name: (None, text) for name, text in {**FIELDS, "api_key": key}.items()}),
        server.post("/v2/translate", data={"text": "the cat", "target_lang": "XX", "auth_key": key}),
        server.post("/v2/translate", json={"text": ["the cat"], "target_lang": "XX"}, headers={"KEY": key}),
        server.post("/v1/detect", json={"text": "a"}, headers={"Authorization": f"DeepL-Auth-Key {key}"}),
    ]
    assert [answer.status_code for answer in answers] == [200] * len(answers)


def test_refusals_have_the_status_and_the_form_of_their_interface(keyed: Keyed) -> None:
    server, wrong = keyed.server, {"Authorization": "Bearer wrong"}
    message = "Please contact the server operator to get an API key"
    routes = (("/translate", 400, 403), ("/v2/translate", 403, 403), ("/v1/translate", 401, 403))
    for path, missing_status, wrong_status in routes:
        missing, refused = server.post(path, json={}), server.post(path, json={}, headers=wrong)
        assert (missing.status_code, refused.status_code) == (missing_status, wrong_status)
        assert message in missing.text and "Invalid API key" in refused.text
    assert server.post("/translate", json=FIELDS).json() == {"error": message}
    assert server.post("/v1/translate", json={}).json() == {"error": {"code": "missing_key", "message": message}}
    for path in (
        "/languages",
        "/spec",
        "/frontend/settings",
        "/v2/languages",
        "/v1/docs",
        "/v1/openapi.json",
        "/health",
    ):
        assert server.get(path).status_code == 200, path
    assert server.get("/frontend/settings").json()["keyRequired"] is True


def test_clients_see_a_wrong_key(keyed: Keyed) -> None:
    with pytest.raises(deepl.AuthorizationException):
        deepl_client(keyed, "wrong").translate_text("the cat", target_lang="XX")
    with pytest.raises(HTTPError, match="403"):
        libretranslatepy.LibreTranslateAPI(keyed.server.url, "wrong").translate("the cat", "en", "xx")
    with pytest.raises(HTTPError, match="400"):
        libretranslatepy.LibreTranslateAPI(keyed.server.url).translate("the cat", "en", "xx")
    right = libretranslatepy.LibreTranslateAPI(keyed.server.url, keyed.free)
    assert isinstance(right.translate("the cat", "en", "xx"), str)


def test_clients_see_the_quota(keyed: Keyed) -> None:
    client = deepl_client(keyed, keyed.limited)
    client.translate_text("the cat", source_lang="EN", target_lang="XX")
    usage = client.get_usage()
    assert (usage.character.count, usage.character.limit) == (7, 100)
    with pytest.raises(deepl.QuotaExceededException, match="Quota for this billing period has been exceeded"):
        client.translate_text("the cat " * 15, source_lang="EN", target_lang="XX")
    fields = {**FIELDS, "q": "the cat " * 15, "api_key": keyed.limited}
    assert keyed.server.post("/translate", data=fields).status_code == 403  # Mastodon takes it for a used-up quota
    assert client.get_usage().character.count == 7


def test_a_translated_file_is_downloaded_without_the_key(keyed: Keyed) -> None:
    fields = {"source": "en", "target": "xx", "api_key": keyed.free}
    answer = keyed.server.post("/translate_file", files={"file": ("a.txt", b"the cat")}, data=fields)
    path = answer.json()["translatedFileUrl"].removeprefix(keyed.server.url)
    assert keyed.server.get(path).status_code == 200

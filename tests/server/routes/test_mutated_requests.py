"""Requests with values of wrong types and broken bodies are refused, and never a fault of the server."""

import json
import random
from collections.abc import Callable
from typing import Any

import requests
from tests.robustness.counts import campaign
from tests.server.running import RunningServer

VALID: dict[str, dict[str, Any]] = {
    "/translate": {"q": ["I am tired.", "a"], "source": "auto", "target": "fr", "format": "html", "alternatives": 1},
    "/detect": {"q": "I am tired.", "api_key": "k"},
    "/suggest": {"q": "a", "s": "b", "source": "en", "target": "fr"},
    "/translate_file": {"source": "en", "target": "fr", "file": "a"},
    "/v2/translate": {
        "text": ["I am tired."],
        "target_lang": "FR",
        "source_lang": "EN",
        "show_billed_characters": True,
        "split_sentences": "1",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
        "model_type": "latency_optimized",
    },
    "/v2/languages": {"type": "target"},
    "/v2/usage": {},
    "/v2/document": {"target_lang": "FR"},
    "/v2/document/0": {"document_key": "0"},
    "/v2/glossaries": {"name": "a", "source_lang": "en"},
    "/v1/translate": {"text": ["I am tired."], "source": "en", "target": "fr", "n_best": 2, "words": True},
    "/v1/detect": {"text": "I am tired."},
    "/v1/alternatives": {"text": "I am tired.", "target": "fr", "word": 1, "translation": "Je suis là.", "count": 2},
    "/v1/look": {"text": "I am tired.", "target": "fr", "without": "positions", "parts": ["facts"], "vectors": []},
}

VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 10**400, -(2**63), float("nan"), float("inf"), "", "a", "auto", "html", "\0",
    "\ud800", "\U0001f600", "a" * 6_000, [], [[]], [None], ["a", 1], [""] * 200, {}, {"a": 1}, {"q": {"q": []}},
    "&<>\"'", "%s%n",
]  # fmt: skip


def mutant(chance: random.Random) -> tuple[str, bytes]:
    """Return a path, and a body of JSON that is wrong in one or more places."""
    path = chance.choice(sorted(VALID))
    body: Any = dict(VALID[path])
    for _ in range(chance.randint(1, 3)):
        name = chance.choice([*body, "unknown"])
        match chance.randrange(4):
            case 0:
                body.pop(name, None)
            case 1 if isinstance(body.get(name), list):
                body[name] = [*body[name], chance.choice(VALUES)]
            case _:
                body[name] = chance.choice(VALUES)
    if chance.random() < 0.05:
        body = chance.choice([*VALUES, [body]])
    encoded = json.dumps(body).encode()
    match chance.randrange(12):
        case 0:
            encoded = encoded[: chance.randrange(len(encoded) + 1)]
        case 1:
            at = chance.randrange(len(encoded))
            encoded = encoded[:at] + bytes([chance.randrange(256)]) + encoded[at + 1 :]
        case 2:
            encoded = b"[" * 50_000 + encoded
    return path, encoded


TYPES = ["application/json"] * 8 + [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
]


@campaign("mutated requests")
def test_no_request_is_a_fault_of_the_server(
    server: RunningServer, count: int, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(1)
    statuses: dict[int, int] = {}
    with requests.Session() as session:
        for number in range(count):
            path, body = mutant(chance)
            method = chance.choice(["POST"] * 9 + ["GET"])
            kind = {"Content-Type": chance.choice(TYPES)}
            response = session.request(method, server.url + path, data=body, headers=kind, timeout=60)
            assert response.status_code < 500, (number, method, path, kind, body[:500])
            assert response.status_code < 400 or response.json().keys() & {"error", "message"}
            statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
    answers = ", ".join(f"{amount:,} x {status}" for status, amount in sorted(statuses.items()))
    record_property("campaign", f"mutated requests: {count:,}, no status of 500 or above ({answers})")

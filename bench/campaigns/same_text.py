"""Sentences alone, in shuffled batches, and through the server: the translation of each must always be the same.

The server keeps no translations, so that each is computed again.
"""

import asyncio
import random
from collections.abc import Iterable, Sequence

from campaigns.known_texts import sentences, translations_in_groups
from campaigns.outcome import Outcome, for_each

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{sentences:,} sentences alone and in batches of 2, 8 and 32, and through the server with {clients} clients, each "
    "alone and in lists of {list}: {compared:,} translations compared, {different} different."
)

_SIZES = (2, 8, 32)
_CLIENTS = 32
_LIST = 10


def run(count: int) -> Outcome:
    texts = sentences(count)
    alone = translations_in_groups(texts, 1)
    outcome = Outcome({"sentences": count, "clients": _CLIENTS, "list": _LIST, "compared": 0, "different": 0})
    for size in _SIZES:
        shuffled = random.Random(size).sample(texts, len(texts))
        _compare(outcome, alone, translations_in_groups(shuffled, size), f"in batches of {size}")
    server = ServerProcess.start(["--model", "en-fr"], {"REGARD_SERVE_CACHE_BYTES": "0"})
    try:
        for size in (1, _LIST):
            shuffled = random.Random(-size).sample(texts, len(texts))
            found = asyncio.run(_ask(server.address, shuffled, size, outcome))
            _compare(outcome, alone, found, f"from the server in lists of {size}")
    finally:
        server.end()
    return outcome


def _compare(outcome: Outcome, alone: dict[str, str], found: dict[str, str], how: str) -> None:
    for text, translation in found.items():
        outcome.count("compared")
        if translation != alone[text]:
            outcome.count("different")
            outcome.fault(f"{how}: {text!r} is {translation!r}, alone {alone[text]!r}")


async def _ask(address: tuple[str, int], texts: Sequence[str], size: int, outcome: Outcome) -> dict[str, str]:
    found: dict[str, str] = {}

    async def client(_: int, groups: Iterable[Sequence[str]]) -> None:
        connection = Connection(*address)
        for group in groups:
            values = {"q": list(group) if size > 1 else group[0], "source": "en", "target": "fr"}
            while (response := await connection.post("/translate", values)).status == 429:
                await asyncio.sleep(int(response.headers["retry-after"]))
            if response.status != 200:
                outcome.fault(f"status {response.status}: {response.body[:200]!r}")
                continue
            answer = response.json()["translatedText"]
            found.update(zip(group, answer if size > 1 else [answer], strict=True))
        connection.close()

    await for_each((texts[at : at + size] for at in range(0, len(texts), size)), _CLIENTS, client)
    return found

"""What becomes of a request with several texts: it is charged once, has one deadline, and ends as a whole."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from regard.documents.markup import Markup
from regard.inference.result import Translation
from regard.server.catalog import Detection
from regard.server.errors import QueueFull, UnknownPair
from regard.server.keys import add_key
from regard.server.queue import Lane
from regard.server.routes.document_translation import translate_documents
from regard.server.routes.translation import Order, _all, identify, translate_order
from regard.server.service import Client, Service, Work
from regard.settings.serve import ServeSettings

CLIENT = Client("one")


@pytest.fixture
def service(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service whose engines translate each text into capitals."""
    keys = tmp_path / "keys.toml"
    add_key(keys, "one", {})
    service = Service(ServeSettings(models=(str(tiny),), keys=str(keys)))

    async def submit(lane: Lane, texts: Sequence[str], client: str, until: float) -> tuple[list[Any], float]:
        await asyncio.sleep(0.01)
        untils.append(until)
        return [Translation(text, text.upper(), None, None, ()) for text in texts], 0.0

    untils: list[float] = []
    monkeypatch.setattr(service.queue, "submit", submit)
    service.untils = untils  # type: ignore[attr-defined]
    return service


def order(service: Service, *texts: str, **changes: Any) -> Any:
    return asyncio.run(translate_order(service, Order(texts, changes.pop("source", None), "xx", CLIENT, **changes)))


def languages(found: dict[str, str]) -> Callable[[str], list[Detection]]:
    return lambda text: [Detection(found[text], 90)]


def test_a_request_that_fails_is_not_charged(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "identify", languages({"the cat": "en", "die Katze": "de", "kissa": "xx"}))
    with pytest.raises(UnknownPair, match="is not available as a target language from German"):
        order(service, "the cat", "die Katze")
    assert service.usage(CLIENT)[0] == 0
    found = order(service, "the cat", "kissa")
    assert [(each.text, each.characters) for each in found] == [("THE CAT", 7), ("kissa", 0)]
    assert service.usage(CLIENT)[0] == 7


def test_an_error_cancels_the_rest_of_a_request() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Future()
        finally:
            ended.append("waits")

    async def fails() -> None:
        raise QueueFull("busy")

    with pytest.raises(QueueFull):
        asyncio.run(_all([waits(), fails()]))
    assert ended == ["waits"]


def test_tags_and_signs_of_protection_are_not_charged(service: Service) -> None:
    from regard.documents.elements import MarkupOptions

    text = "<p>the <b>cat</b> <code>x</code> sleeps.</p><p>a house</p><hr>"
    [found] = order(service, text, source="en", markup=MarkupOptions("html"))
    assert found.characters == len("the cat x sleeps.") + len("a house")
    assert service.usage(CLIENT)[0] == found.characters


def test_a_document_has_one_deadline(service: Service) -> None:
    """Without alignment, the texts between the tags are translated in a second step."""
    work = Work((), "en", "xx", {}, CLIENT, is_document=True)
    document = Markup("<p>the <b>cat</b> sleeps</p>")
    [found] = asyncio.run(translate_documents(service, work, [document]))
    assert found.text == "<p>THE <b>CAT</b> SLEEPS</p>"
    first, second = service.untils  # type: ignore[attr-defined]
    assert first == second


def test_long_texts_are_identified_in_a_thread(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def noted(text: str) -> list[Detection]:
        threads.append(threading.current_thread())
        return []

    monkeypatch.setattr(service, "identify", noted)
    for text in ("a", "a" * 2_000):
        asyncio.run(identify(service, text))
    assert [thread is threading.main_thread() for thread in threads] == [True, False]

"""What the server translates equals what the library translates."""

from concurrent.futures import ThreadPoolExecutor

from tests.server.running import RunningServer

import regard

TEXTS = [
    "I am a student.",
    "The animal didn't cross the street because it was too tired.",
    "See https://example.org/a?b=1 for details.",
    "First line.\n\n- second line\n  third line",
    "",
    "42",
    "Hello there! How are you?",
]


def test_texts_under_concurrent_load_equal_the_library(server: RunningServer) -> None:
    """Clients ask for single texts and for lists at the same time."""
    texts = [f"{text} {number}" for number in range(12) for text in TEXTS]
    with regard.load("en-fr") as model:
        expected = {text: each.text for text, each in zip(texts, model.translate(texts), strict=True)}

    def single(text: str) -> tuple[list[str], list[str]]:
        return [text], [server.translate(text).json()["translatedText"]]

    def several(first: int) -> tuple[list[str], list[str]]:
        chosen = texts[first : first + 10]
        return chosen, server.translate(chosen).json()["translatedText"]

    with ThreadPoolExecutor(16) as threads:
        for asked, got in [*threads.map(single, texts), *threads.map(several, range(0, len(texts), 10))]:
            assert got == [expected[text] for text in asked]

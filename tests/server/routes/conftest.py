"""Fixtures of the tests of the interfaces."""

from collections.abc import Callable, Iterator

import pytest

import regard

Translate = Callable[..., str]


@pytest.fixture(scope="session")
def expected() -> Iterator[Translate]:
    """Return what the library translates, which the server must return."""
    models = {("en", "fr"): regard.load("en-fr"), ("fr", "en"): regard.load("fr-en")}
    yield lambda text, source="en", target="fr": models[source, target].translate(text).text
    for model in models.values():
        model.close()

"""Translation of texts with HTML or XML tags: the tags are kept, by the word alignment of the translations."""

from dataclasses import dataclass
from typing import Literal

from regard.inference.result import TranslationWarning
from regard.server.routes.inputs import InputError
from regard.server.service import Service, Work


@dataclass(frozen=True)
class Markup:
    """The format of texts with tags, and how to treat some of the tags."""

    format: Literal["html", "xml"]
    ignore_tags: tuple[str, ...] = ()  # their content is not translated
    splitting_tags: tuple[str, ...] = ()  # a sentence ends at them
    non_splitting_tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Marked:
    """The translation of a text with tags, and the warnings about it."""

    text: str
    warnings: tuple[TranslationWarning, ...] = ()


async def translate_markup(service: Service, work: Work, markup: Markup) -> list[Marked]:
    """Return the translation of each text of the work."""
    raise InputError(f"{markup.format} format is not supported yet")

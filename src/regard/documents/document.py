"""A document that is translated: its texts, and the document with their translations.

The texts are translated by the caller, in a process or over a network, waiting or not. `steps` yields lists of texts
and gets their translations; a second list is needed only if the model has no word alignment.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regard.inference.result import Translation, TranslationWarning

Steps = Generator[list[str], Sequence[Translation], "TranslatedDocument"]


@dataclass(frozen=True)
class TranslatedDocument:
    """The translation of a document."""

    text: str
    # How the places of tags inside of sentences were found. "none": the model has no word alignment, so the text
    # between two tags was translated by itself.
    alignment: Literal["words", "none"]
    warnings: tuple[TranslationWarning, ...]


class Document(ABC):
    """A document whose texts can be translated."""

    @property
    @abstractmethod
    def texts(self) -> tuple[str, ...]:
        """The texts to translate; what is protected is marked by <keep> and </keep>."""

    @property
    @abstractmethod
    def characters(self) -> int:
        """How many characters of the document are translated."""

    @abstractmethod
    def steps(self) -> Steps:
        """Yield the texts to translate, get their translations, and return the translated document."""

    def translate(self, translate: Callable[[list[str]], Sequence[Translation]]) -> TranslatedDocument:
        """Translate the document. `translate` must ask for the word alignment, and for protection of spans."""
        steps = self.steps()
        try:
            texts = next(steps)
            while True:
                texts = steps.send(translate(texts))
        except StopIteration as end:
            found: TranslatedDocument = end.value
            return found


def without_ranges(translations: Sequence[Translation]) -> tuple[TranslationWarning, ...]:
    """Return the warnings of the texts of a document, without ranges, which would not be those of the document."""
    found = (replace(one, source=None, target=None) for each in translations for one in each.warnings)
    return tuple(dict.fromkeys(found))

"""Checks that texts are in the language from which a model translates."""

from typing import final

from regard.inference.result import TranslationWarning
from regard.language_id import LanguageIdentifier


@final
class LanguageCheck:
    """Finds texts that are almost certainly in another language than a model expects."""

    def __init__(self, identifier: LanguageIdentifier, expected: str | None) -> None:
        """Make a check of texts that should be in the language `expected`; without its profile, it finds nothing."""
        self.identifier = identifier
        self._expected = expected

    def warnings(self, text: str) -> tuple[TranslationWarning, ...]:
        """Return the warning of a text in another language, if it is one."""
        found = self.identifier.find_mismatch(text, self._expected)
        if found is None:
            return ()
        language = "another language" if found.language is None else f"the language {found.language}"
        message = f"the text seems to be in {language}, but the model translates from {self._expected}"
        return (TranslationWarning("language", message),)

"""Plain text: each line is translated by itself, and line breaks are kept."""

from regard.documents.document import Document, Steps, TranslatedDocument, without_ranges


class Lines(Document):
    """A plain text."""

    def __init__(self, source: str) -> None:
        self._lines = source.split("\n")

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines that are not empty."""
        return tuple(line for line in self._lines if line.strip())

    @property
    def characters(self) -> int:
        """How many characters the lines have, without those of their ends."""
        return sum(map(len, self.texts))

    def steps(self) -> Steps:
        """Yield the lines, get their translations, and return the translated text."""
        texts = list(self.texts)
        translations = (yield texts) if texts else []
        translated = iter(translations)
        # A line gives one line, as on the command line.
        lines = [next(translated).text.replace("\n", " ") if line.strip() else line for line in self._lines]
        return TranslatedDocument("\n".join(lines), "words", without_ranges(translations))

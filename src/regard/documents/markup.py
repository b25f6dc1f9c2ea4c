"""HTML and XML: translates the text and keeps every tag as it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regard.documents.characters import escape_cdata
from regard.documents.document import Document, Steps, TranslatedDocument, without_ranges
from regard.documents.elements import MarkupOptions
from regard.documents.placement import needs_alignment, place
from regard.documents.scanner import Token, scan
from regard.documents.segment_text import SegmentText, segment_text
from regard.documents.segments import Segment, divide
from regard.inference.result import Translation, TranslationWarning

_NO_ALIGNMENT = (
    "the model has no word alignment, so the texts between the tags of a sentence were translated one by one; "
    "measure it with: regard measure alignment"
)


@dataclass(frozen=True)
class _Unit:
    """A part of a document that is translated as one text."""

    segment: Segment
    text: SegmentText
    options: MarkupOptions

    def _is_unchanged(self, translation: Translation) -> bool:
        return translation.text in (self.text.text, self.text.visible)

    def needs_alignment(self, translation: Translation) -> bool:
        return not self._is_unchanged(translation) and needs_alignment(self.text)

    def translated(self, translation: Translation) -> str:
        if self._is_unchanged(translation):
            return self.segment.raw  # also with the same line breaks and character references
        first = self.segment.items[0]
        if isinstance(first, Token) and first.kind == "cdata":
            placed = escape_cdata(translation.text)
        else:
            placed = place(self.text, translation, self.options.format)
        return self.text.space_before + placed + self.text.space_after


class Markup(Document):
    """An HTML or XML document, or a part of one."""

    def __init__(self, source: str, options: MarkupOptions | None = None) -> None:
        self._options = options or MarkupOptions()
        tokens = list(scan(source, self._options.format))
        self._warnings: list[TranslationWarning] = []
        rest = ""
        if tokens and tokens[-1].kind == "rest":
            rest = tokens.pop().raw
            message = f"the markup at character {len(source) - len(rest):,} has no end; what follows was not translated"
            self._warnings.append(TranslationWarning("markup", message))
        self._parts = [*(self._unit(part) for part in divide(tokens, self._options)), rest]
        self._characters = sum(len(unit.text.visible) for unit in self._parts if isinstance(unit, _Unit))

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts to translate; what is protected is marked by <keep> and </keep>."""
        return tuple(unit.text.text for unit in self._parts if isinstance(unit, _Unit))

    @property
    def characters(self) -> int:
        """How many characters of the text are translated; those of tags do not count."""
        return self._characters

    def steps(self) -> Steps:
        """Yield the texts to translate, get their translations, and return the translated document."""
        units = [part for part in self._parts if isinstance(part, _Unit)]
        translations = (yield list(self.texts)) if units else []
        warnings = [*self._warnings, *without_ranges(translations)]
        parts: list[str | _Unit] = []
        translated = iter(zip(units, translations, strict=True))
        is_aligned = True
        for part in self._parts:
            if isinstance(part, str):
                parts.append(part)
                continue
            unit, translation = next(translated)
            if translation.alignment is None and unit.needs_alignment(translation):
                is_aligned = False
                parts += self._text_nodes(unit.segment)
            else:
                parts.append(unit.translated(translation))
        left = [part for part in parts if isinstance(part, _Unit)]
        if left:
            translations = yield [unit.text.text for unit in left]
            warnings += without_ranges(translations)
            texts = iter([unit.translated(one) for unit, one in zip(left, translations, strict=True)])
            parts = [part if isinstance(part, str) else next(texts) for part in parts]
        if not is_aligned:
            warnings.insert(0, TranslationWarning("markup", _NO_ALIGNMENT))
        alignment: Literal["words", "none"] = "words" if is_aligned else "none"
        return TranslatedDocument("".join(map(str, parts)), alignment, tuple(dict.fromkeys(warnings)))

    def _text_nodes(self, segment: Segment) -> Iterator["str | _Unit"]:
        """Yield the markup of a segment, and a unit for each text between its tags."""
        for item in segment.items:
            if isinstance(item, Token) and item.kind == "text":
                yield self._unit(Segment((item,), segment.is_preformatted))
            else:
                yield item.raw

    def _unit(self, part: Segment | str) -> "str | _Unit":
        if isinstance(part, str):
            return part
        text = segment_text(part, self._options)
        return part.raw if text.is_blank else _Unit(part, text, self._options)

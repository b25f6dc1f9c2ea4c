"""Reads texts: divides them into parts that the model can translate, and turns the parts into source tokens."""

from collections.abc import Iterator, Sequence

from regard.errors import SettingsError
from regard.inference.backends.interface import SourceTokens
from regard.inference.joiner import Part, Plan, plan_parts
from regard.inference.line_structure import divide_line, mark_code
from regard.inference.masking.edited_text import Edited
from regard.inference.masking.mask import Mask
from regard.inference.masking.masker import Masker
from regard.inference.splitter import split_text
from regard.settings.decode import DecodeSettings
from regard.spans.glossary import Glossary
from regard.tokenizers.placeholders import PLACEHOLDERS
from regard.tokenizers.protocol import Tokenizer

_BREAKABLE = PLACEHOLDERS[0]  # stands for each protected span while a line is divided

STAND_IN_TOKENS = 8  # a stand-in of a protected span is assumed to have at most this many tokens


class Reader:
    """Divides texts into parts of one line and of at most `max_positions` tokens, including EOS, and encodes them."""

    def __init__(self, tokenizer: Tokenizer, max_positions: int, *, has_alignment: bool = False) -> None:
        self.max_positions = max_positions
        self._tokenizer = tokenizer
        self._masker = Masker(tokenizer.placeholders, has_alignment=has_alignment)

    def plan(self, text: str, decode: DecodeSettings, glossary: Glossary | None = None) -> Plan:
        """Return the parts of a text, each with the white space after it. The first part may get a prefix."""
        return plan_parts(self.parts(text, glossary, protect=decode.protect), prefixed=bool(decode.prefix))

    def parts(self, text: str, glossary: Glossary | None = None, *, protect: bool = True) -> list[tuple[str, str]]:
        """Return the text of each part, and what stands after it: white space, and the list marker of the next part."""
        # Models are trained on single lines, so a part never contains several lines.
        parts: list[tuple[str, str]] = []
        for line, is_code in mark_code(text.split("\n")):
            if is_code and protect:
                parts.append(("", line))
            else:
                parts += self._line(line, glossary, protect=protect)
            parts[-1] = (parts[-1][0], parts[-1][1] + "\n")
        parts[-1] = (parts[-1][0], parts[-1][1].removesuffix("\n"))
        return parts

    def _line(self, line: str, glossary: Glossary | None, *, protect: bool) -> Iterator[tuple[str, str]]:
        for text, space in divide_line(line, protect=protect):
            if space.strip() and not any(map(str.isalpha, text)):  # no text, or a number in a table
                yield "", text + space
            else:
                *parts, (last, no_space) = self._split(text, glossary, protect=protect)
                yield from parts
                yield last, no_space + space

    def _split(self, line: str, glossary: Glossary | None, *, protect: bool) -> list[tuple[str, str]]:
        """Divide a line that is too long, but never inside of a protected span."""
        groups = self._masker.groups(line, glossary, protect=protect) if protect or glossary else []
        if not groups:
            return split_text(line, self._fits)
        spans = iter([line[group.begin : group.end] for group in groups])
        short = Edited.of(line, (((group.begin, group.end), _BREAKABLE) for group in groups)).text

        def fits(text: str) -> bool:
            count = text.count(_BREAKABLE)
            return count <= self._masker.max_groups and self._fits(text, count * STAND_IN_TOKENS)

        return [(_fill(text, spans), space) for text, space in split_text(short, fits)]

    def mask(self, part: Part, decode: DecodeSettings, glossary: Glossary | None = None) -> Mask | None:
        """Return the protected spans and the terms of a part, or None if there are none."""
        return self._masker.mask(part[0], glossary, protect=decode.protect) if decode.protect or glossary else None

    def sources(
        self, parts: Sequence[Part], decode: DecodeSettings, masks: Sequence[Mask | None] = (), attempt: int = 0
    ) -> list[SourceTokens]:
        """Return the tokens of each part, with the length limit and the prefix of its translation.

        `masks` has the mask of each part; if it is empty, no part has one.
        """
        masks = masks or [None] * len(parts)
        prefix = self._tokenizer.encode([decode.prefix])[0] if decode.prefix else []
        encoded = self._tokenizer.encode([text for (text, _), mask in zip(parts, masks, strict=True) if mask is None])
        masked = self._tokenizer.encode_masked([mask.masked(attempt).text for mask in masks if mask is not None])
        plain, with_spans = iter(encoded), iter(masked)
        return [
            self._source(next(plain if mask is None else with_spans), prefix if prefixed else [], decode)
            for (_, prefixed), mask in zip(parts, masks, strict=True)
        ]

    def translation_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of translations, in which the characters of placeholders stand for the placeholders."""
        return self._tokenizer.encode_masked(texts)

    def _source(self, ids: Sequence[int], prefix: Sequence[int], decode: DecodeSettings) -> SourceTokens:
        most = min(self.max_positions, decode.max_length or self.max_positions)
        if decode.min_length > most:
            raise SettingsError(
                f"decode.min_length ({decode.min_length:,}) exceeds the maximum length of a translation ({most:,})"
            )
        if len(prefix) >= most:
            raise SettingsError(
                f"decode.prefix takes {len(prefix):,} of the {most:,} tokens a translation may have; shorten it"
            )
        limit = min(max(len(ids) + decode.max_length_offset, decode.min_length, len(prefix) + 1), most)
        return SourceTokens(tuple(ids), limit, tuple(prefix))

    def _fits(self, text: str, more: int = 0) -> bool:
        # The tokens of a short text need not be counted, because there are at most two for each byte.
        if 2 * len(text.encode("utf-8", "replace")) + 2 + more <= self.max_positions:
            return True
        return len(self._tokenizer.encode([text])[0]) + more < self.max_positions


def _fill(text: str, spans: Iterator[str]) -> str:
    """Put the next spans in the places that were kept for them."""
    first, *others = text.split(_BREAKABLE)
    return "".join([first, *(part for other in others for part in (next(spans), other))])

"""Reads texts: divides them into parts that the model can translate, and turns the parts into source tokens."""

from collections.abc import Sequence

from regard.errors import SettingsError
from regard.inference.backends.interface import SourceTokens
from regard.inference.joiner import Part, Plan, plan_parts
from regard.inference.splitter import split_text
from regard.settings.decode import DecodeSettings
from regard.tokenizers.protocol import Tokenizer


class Reader:
    """Divides texts into parts of one line and of at most `max_positions` tokens, including EOS, and encodes them."""

    def __init__(self, tokenizer: Tokenizer, max_positions: int) -> None:
        self.max_positions = max_positions
        self._tokenizer = tokenizer

    def plan(self, text: str, decode: DecodeSettings) -> Plan:
        """Return the parts of a text, each with the white space after it. The first part may get a prefix."""
        return plan_parts(self.parts(text), prefixed=bool(decode.prefix))

    def parts(self, text: str) -> list[tuple[str, str]]:
        """Return the text of each part, and the white space after it."""
        # Models are trained on single lines, so a part never contains several lines.
        parts: list[tuple[str, str]] = []
        for line in text.split("\n"):
            parts += split_text(line, self._fits)
            parts[-1] = (parts[-1][0], parts[-1][1] + "\n")
        parts[-1] = (parts[-1][0], parts[-1][1].removesuffix("\n"))
        return parts

    def sources(self, parts: Sequence[Part], decode: DecodeSettings) -> list[SourceTokens]:
        """Return the tokens of each part, with the length limit and the prefix of its translation."""
        prefix = self._tokenizer.encode([decode.prefix])[0] if decode.prefix else []
        encoded = self._tokenizer.encode([text for text, _ in parts])
        return [
            self._source(ids, prefix if prefixed else [], decode)
            for ids, (_, prefixed) in zip(encoded, parts, strict=True)
        ]

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

    def _fits(self, text: str) -> bool:
        # The tokens of a short text need not be counted, because there are at most two for each byte.
        if 2 * len(text.encode("utf-8", "replace")) + 2 <= self.max_positions:
            return True
        return len(self._tokenizer.encode([text])[0]) < self.max_positions

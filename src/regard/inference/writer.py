"""Writes translations: turns hypotheses back into text, with the scores and alignments that were requested."""

from collections.abc import Sequence
from typing import Any

from regard.inference.alignment import Link, align_words
from regard.inference.backends.interface import SourceTokens
from regard.inference.checks import Checks
from regard.inference.locator import Locator, SplitWords
from regard.inference.masking.mask import Restored
from regard.inference.result import PlacedSpan, Translation
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.token_probability import calibrated_probability
from regard.model_folder.folder import UNCALIBRATED, AlignmentHead
from regard.settings.decode import DecodeSettings
from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.word_spans import whitespace_words


class Writer:
    """Makes a `Translation` from each hypothesis."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        alignment_head: AlignmentHead | None,
        calibration_temperature: float = UNCALIBRATED,
    ) -> None:
        self.alignment_head = alignment_head
        self._temperature = calibration_temperature
        self._tokenizer = tokenizer
        self._checks = Checks(tokenizer)

    def texts(self, hypotheses: Sequence[Hypothesis]) -> list[str]:
        """Return the text of each hypothesis."""
        return self._tokenizer.decode([hypothesis.token_ids for hypothesis in hypotheses])

    def has_placeholder(self, hypothesis: Hypothesis, text: str) -> bool:
        """Return whether the model has written a placeholder, given the text of the hypothesis."""
        placeholders = self._tokenizer.placeholders
        if not any(each in text for each in placeholders):
            return False
        return not {*self._tokenizer.tokens(hypothesis.token_ids)}.isdisjoint(placeholders)

    def translation(
        self,
        source_text: str,
        text: str,
        hypothesis: Hypothesis,
        decode: DecodeSettings,
        alignment: tuple[Link, ...] | None = None,
        *,
        source: SourceTokens | None = None,
        restored: Restored | None = None,
    ) -> Translation:
        """Return the translation of a source, with what was requested by `decode`.

        `source` are the tokens of a source that was translated now: without them, the translation is not checked.
        `restored` is the translation with protected spans; `text` is then the text that the model has written.
        """
        spans: tuple[PlacedSpan, ...] = ()
        words: tuple[float | None, ...] = ()
        if decode.log_probabilities:
            words = self._word_probabilities(hypothesis)
        if restored is not None:
            text, spans, words = restored.text, restored.spans, restored.of_words(words)
        tokens = hypothesis.tokens
        return Translation(
            source_text,
            text,
            hypothesis.score + 0.0 if decode.scores else None,  # + 0.0 turns -0.0 into 0.0
            hypothesis.log_probability + 0.0 if decode.scores else None,
            tokens if tokens is not None else tuple(self._tokenizer.tokens(hypothesis.token_ids)),
            hypothesis.token_log_probabilities if decode.log_probabilities else (),
            words,
            alignment=alignment,
            warnings=self._checks.warnings(source_text, text, source, hypothesis.token_ids, spans) if source else (),
            spans=spans,
        )

    def _word_probabilities(self, hypothesis: Hypothesis) -> tuple[float | None, ...]:
        words = whitespace_words(hypothesis.token_ids, self._tokenizer)
        values = hypothesis.token_log_probabilities
        return tuple(
            calibrated_probability(values[word.begin : word.end], self._temperature) if word.begin < word.end else None
            for word in words
        )

    def copy(self, source: str, restored: Restored, decode: DecodeSettings) -> Translation:
        """Return the translation of a source that has only protected spans."""
        zero = 0.0 if decode.scores else None
        links = restored.copied_links() if decode.alignment and self.alignment_head is not None else None
        return Translation(source, restored.text, zero, zero, (), alignment=links, spans=restored.spans)

    def alignment(self, source: Sequence[int], target: Sequence[int], weights_LM: Any) -> tuple[Link, ...]:
        """Return the links between the words of a source and of its translation, given the weights of the head."""
        assert self.alignment_head is not None
        words = whitespace_words(source, self._tokenizer), whitespace_words(target, self._tokenizer)
        return tuple(align_words(weights_LM, *words, self.alignment_head.row))

    def locator(
        self, source: Sequence[int], source_text: str, target: Sequence[int], text: str, weights: Any
    ) -> Locator:
        """Return what finds the place of a part of the source in a translation, given the weights of the head."""
        assert self.alignment_head is not None
        sides = (SplitWords(source, source_text, self._tokenizer), SplitWords(target, text, self._tokenizer))
        return Locator(*sides, weights, self.alignment_head.row)

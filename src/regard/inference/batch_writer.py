"""Turns the hypotheses of a batch into translations.

If the model lost a protected span of a part, the part is translated again with other stand-ins for its spans.
"""

from collections.abc import Iterator
from typing import final

from regard.inference.alignment import Link
from regard.inference.backends.interface import Backend, Sources, SourceTokens
from regard.inference.locator import Locator
from regard.inference.masking.mask import Mask, Restored
from regard.inference.reader import Reader
from regard.inference.result import Translation
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.windows import Batch
from regard.inference.writer import Writer
from regard.settings.decode import DecodeSettings


@final
class BatchWriter:
    """Writes the translations of the batches of one call."""

    def __init__(self, backend: Backend, reader: Reader, writer: Writer, decode: DecodeSettings) -> None:
        self._backend = backend
        self._reader = reader
        self._writer = writer
        self._decode = decode

    def translations(self, batch: Batch, results: list[list[Hypothesis]]) -> Iterator[list[Translation]]:
        """Yield the translations of each part of a batch, best first."""
        sources, attempts = list(batch.sources), [0] * len(results)
        if any(mask is not None for mask in batch.masks):
            results = list(results)
            self._try_other_stand_ins(batch, sources, results, attempts)
        best = [hypotheses[: self._decode.n_best] for hypotheses in results]
        texts = iter(self._writer.texts([each for hypotheses in best for each in hypotheses]))
        for (source_text, _), source, mask, attempt, hypotheses in zip(
            batch.parts, sources, batch.masks, attempts, best, strict=True
        ):
            translations = []
            for each in hypotheses:
                text, links = next(texts), self._links(source, each)
                restored = None
                if mask is None and self._writer.has_placeholder(each, text):
                    mask = Mask(source_text, (), ((),))  # which has no span, so the placeholder is removed
                if mask is not None:
                    restored = self._restored(mask, attempt, source, each, text)
                    links = restored.links(mask.masked(attempt), links) if links is not None else None
                translations.append(
                    self._writer.translation(
                        source_text, text, each, self._decode, links, source=source, restored=restored
                    )
                )
            yield translations

    def _links(self, source: SourceTokens, hypothesis: Hypothesis) -> tuple[Link, ...] | None:
        if not self._decode.alignment:
            return None
        return self._writer.alignment(source.ids, hypothesis.token_ids, hypothesis.attention)

    def _try_other_stand_ins(
        self, batch: Batch, sources: Sources, results: list[list[Hypothesis]], attempts: list[int]
    ) -> None:
        """Translate parts again in which the model lost a protected span, with other stand-ins for the spans.

        Replace the sources and the results of a part by the first attempt that loses the fewest spans.
        """
        masked = {index: mask for index, mask in enumerate(batch.masks) if mask is not None}
        lost = {index: self._count_lost(mask, 0, sources[index], results[index]) for index, mask in masked.items()}
        for attempt in range(1, max(mask.attempts for mask in masked.values())):
            again = [index for index, mask in masked.items() if lost[index] and attempt < mask.attempts]
            if not again:
                return
            parts, masks = [batch.parts[index] for index in again], [masked[index] for index in again]
            new_sources = self._reader.sources(parts, self._decode, masks, attempt)
            new_results = self._backend.generate(new_sources, self._decode, sentences=len(new_sources)).result()
            for index, mask, source, found in zip(again, masks, new_sources, new_results, strict=True):
                count = self._count_lost(mask, attempt, source, found)
                if count < lost[index]:
                    lost[index], sources[index], results[index], attempts[index] = count, source, found, attempt

    def _count_lost(self, mask: Mask, attempt: int, source: SourceTokens, hypotheses: list[Hypothesis]) -> int:
        return self._restored(mask, attempt, source, hypotheses[0], self._writer.texts(hypotheses[:1])[0]).lost

    def _restored(self, mask: Mask, attempt: int, source: SourceTokens, hypothesis: Hypothesis, text: str) -> Restored:
        """Return the translation of a part with its protected spans."""

        def locator() -> Locator | None:
            if self._writer.alignment_head is None or not hypothesis.token_ids:
                return None
            [weights_LM] = self._backend.attend([(source.ids, hypothesis.token_ids)])
            masked = mask.masked(attempt).text
            return self._writer.locator(source.ids, masked, hypothesis.token_ids, text, weights_LM)

        return mask.restore(text, attempt, locator)

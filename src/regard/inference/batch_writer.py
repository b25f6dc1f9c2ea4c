"""Turns the hypotheses of a batch into translations.

If the model lost a protected span of a part, the part is translated again with other stand-ins for its spans. A
stand-in that is still missing is put where the model finds it most probable. If a translation has fewer sentences than
its source, each sentence is translated by itself.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import final

from regard.inference.alignment import Link
from regard.inference.backends.interface import Backend, Sources, SourceTokens
from regard.inference.insertion import insert_stand_in
from regard.inference.joiner import PartTranslations, join_parts, plan_parts
from regard.inference.locator import Locator
from regard.inference.masking.mask import Mask, Restored
from regard.inference.reader import STAND_IN_TOKENS, Reader
from regard.inference.result import Translation
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.sentences import split_sentences
from regard.inference.windows import Batch
from regard.inference.writer import Writer
from regard.settings.decode import DecodeSettings


@final
class BatchWriter:
    """Writes the translations of the batches of one call."""

    def __init__(
        self,
        backend: Backend,
        reader: Reader,
        writer: Writer,
        decode: DecodeSettings,
        translate: Callable[[Sequence[str]], Iterable[Translation]],
    ) -> None:
        """Make a writer. `translate` translates sentences with the same settings, but without a prefix."""
        self._backend = backend
        self._reader = reader
        self._writer = writer
        self._decode = decode
        self._translate = translate

    def translations(self, batch: Batch, results: list[list[Hypothesis]]) -> list[list[Translation]]:
        """Return the translations of each part of a batch, best first."""
        written = list(self._written(batch, results))
        divided = {
            index: sentences
            for index, ((text, prefixed), mask) in enumerate(zip(batch.parts, batch.masks, strict=True))
            if len(sentences := split_sentences(text, mask.groups if mask else ())) > 1
            and len(split_sentences(written[index][0].text)) < len(sentences)
            and not prefixed
        }
        if divided:
            texts = list(dict.fromkeys(text for sentences in divided.values() for text, _ in sentences))
            translated: PartTranslations = {
                (one.source, False): [_without_language(one), *one.alternatives] for one in self._translate(texts)
            }
            for index, sentences in divided.items():
                plan = plan_parts(sentences, prefixed=False)
                best = join_parts(batch.parts[index][0], plan, translated, has_scores=self._decode.scores)
                written[index] = [replace(best, alternatives=()), *best.alternatives]
        return written

    def _written(self, batch: Batch, results: list[list[Hypothesis]]) -> Iterator[list[Translation]]:
        """Yield the translations of each part of a batch, as the model has written them."""
        sources, attempts = list(batch.sources), [0] * len(results)
        if any(mask is not None for mask in batch.masks):
            results = list(results)
            for index in self._try_other_stand_ins(batch, sources, results, attempts):
                mask, source = batch.masks[index], sources[index]
                assert mask is not None
                first, *others = results[index]
                results[index] = [self._with_missing(mask, attempts[index], source, first), *others]
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
    ) -> list[int]:
        """Translate parts again in which the model lost a protected span, with other stand-ins for the spans.

        Replace the sources and the results of a part by the first attempt that loses the fewest spans. Return the
        numbers of the parts in which all attempts lost some.
        """
        masked = {index: mask for index, mask in enumerate(batch.masks) if mask is not None}
        lost = {index: self._count_lost(mask, 0, sources[index], results[index]) for index, mask in masked.items()}
        for attempt in range(1, max(mask.attempts for mask in masked.values())):
            again = [index for index, mask in masked.items() if lost[index] and attempt < mask.attempts]
            if not again:
                break
            parts, masks = [batch.parts[index] for index in again], [masked[index] for index in again]
            new_sources = self._reader.sources(parts, self._decode, masks, attempt)
            new_results = self._backend.generate(new_sources, self._decode, sentences=len(new_sources)).result()
            for index, mask, source, found in zip(again, masks, new_sources, new_results, strict=True):
                count = self._count_lost(mask, attempt, source, found)
                if count < lost[index]:
                    lost[index], sources[index], results[index], attempts[index] = count, source, found, attempt
        return [index for index, count in lost.items() if count]

    def _with_missing(self, mask: Mask, attempt: int, source: SourceTokens, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis with the stand-ins that it lacks, as far as the model finds them probable."""
        [text] = self._writer.texts([hypothesis])
        missing = mask.missing(text, attempt)
        encode = self._reader.translation_ids
        # The text may have more tokens than the hypothesis, because a model can divide words in another way.
        if len(encode([text])[0]) + len(missing) * STAND_IN_TOKENS >= self._reader.max_positions:
            return hypothesis

        def score(texts: Sequence[str]) -> list[float]:
            return [math.fsum(each) for each in self._backend.score([(source.ids, ids) for ids in encode(texts)])]

        placed = [text]
        for stand_in in missing:
            placed.append(insert_stand_in(placed[-1], stand_in, score) or placed[-1])
        if placed[-1] == text:
            return hypothesis
        [ids] = encode(placed[-1:])
        pair = (source.ids, ids)
        attention = self._backend.attend([pair])[0] if self._decode.alignment else None
        [values] = self._backend.score([pair])
        return replace(Hypothesis.of(ids, values, self._decode.length_penalty), attention=attention)

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


def _without_language(translation: Translation) -> Translation:
    """Return the translation of a sentence without the warning about its language, which concerns the whole text."""
    warnings = tuple(warning for warning in translation.warnings if warning.kind != "language")
    return replace(translation, warnings=warnings, alternatives=())

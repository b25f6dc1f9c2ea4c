"""What each head is worth: how much worse the model does without it, and with it looking everywhere alike.

Loss is by pieces of the right translation; BLEU is of greedy translations; and on the built-in language, how often the
right pronoun for "it" is the likelier one. Every change is of the same sentences, so chance in them cancels out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from regard.data.language import flips
from regard.data.texts import Preparing, Work
from regard.data.tokenizer import Tokenizer
from regard.decoding.translator import Translator
from regard.evaluation.intervals import Figure, deviations, mean
from regard.inside.edits import WAYS, Edit, Edited, head_addresses
from regard.inside.passes import Batch, batched, log_probabilities
from regard.inside.pronouns import Pronouns, contrast
from regard.inside.sample import SEED, SPLIT, Item, Sample
from regard.inside.trace import Array
from regard.settings import DecodeSettings

if TYPE_CHECKING:
    from regard.model.face import SequenceModel
    from regard.model.transformer import Transformer

GREEDY = DecodeSettings(beams=1, extra=12)  # a broken model should not babble for long
_RESAMPLES = 200
_ORDERS = 4


@dataclass(frozen=True)
class Worth:
    """What changes: nats a piece (more is worse), BLEU, and the share of right pronouns (less is worse)."""

    loss: Figure
    bleu: Figure
    pronoun: Figure | None


@dataclass(frozen=True)
class Whole:
    """How the model does as it is, and on how many: the values that the changes are from."""

    loss: Figure
    bleu: float
    translated: int
    pronoun: Figure | None


@dataclass(frozen=True)
class Counts:
    """How many sentences are used for what; each head costs two passes over all of them."""

    loss: int = 100
    bleu: int = 60
    flips: int = 40


def measure_worth(
    model: "Transformer", tokenizer: Tokenizer, sample: Sample, counts: Counts
) -> Work[tuple[Whole, dict[tuple[str, str], Worth]]]:
    """How the model does, and for each head and way to change it, what that changes."""
    bench = _Bench(model, tokenizer, sample, counts)
    heads = head_addresses(model.settings)
    found: dict[tuple[str, str], Worth] = {}
    for head in heads:
        for way in WAYS:
            found[head, way] = bench.worth(Edit([head], way), tests=len(heads))
            yield Preparing("taking heads out, one by one", len(found), len(WAYS) * len(heads))
    return bench.whole(), found


class _Bench:
    """Sentences made ready, and what the whole model does with them."""

    def __init__(self, model: "Transformer", tokenizer: Tokenizer, sample: Sample, counts: Counts) -> None:
        self._model, self._tokenizer = model, tokenizer
        items = sample.items[: counts.loss]
        self._batches = batched(model, items)
        self._pieces = [len(item.written_ids) for item in items]
        self._translated = sample.items[: counts.bleu]
        self._pronouns = None
        if all(item.truth for item in items):
            pairs = [pair for both in islice(flips(SEED, SPLIT), counts.flips) for pair in both]
            self._pronouns = Pronouns(model, [contrast(pair, tokenizer) for pair in pairs])
        self._loss = self._losses(None)
        self._counts = self._ngrams(model)
        self._right = self._rightness(None)

    def whole(self) -> Whole:
        right = mean(self._right) if self._right is not None else None
        bleu = _bleu(self._counts.sum(axis=0))
        return Whole(mean(self._loss, weights=self._pieces), bleu, len(self._translated), right)

    def worth(self, edit: Edit, tests: int) -> Worth:
        loss = mean(self._losses(lambda _: edit) - self._loss, weights=self._pieces, tests=tests)
        right = self._rightness(lambda _: edit)
        changed = _bleu_change(self._counts, self._ngrams(Edited(self._model, edit)), tests)
        if right is None or self._right is None:
            return Worth(loss, changed, None)
        # The two sentences of a flip are one case.
        return Worth(loss, changed, mean((right - self._right).reshape(-1, 2).mean(axis=1), tests=tests))

    def _losses(self, edit: Callable[[Batch], Edit] | None) -> Array:
        """Nats a piece of each sentence."""
        return np.array([-logs.mean(dtype=float) for logs in log_probabilities(self._model, self._batches, edit)])

    def _rightness(self, edit: Callable[[Batch], Edit] | None) -> Array | None:
        return None if self._pronouns is None else (self._pronouns.preference(edit) > 0).astype(float)

    def _ngrams(self, model: "SequenceModel") -> Array:
        translator = Translator(model, self._tokenizer, longest=self._model.settings.longest)
        found = translator.translate_all([item.source for item in self._translated], GREEDY)
        return ngrams([one.text for one in found], self._translated)


def ngrams(texts: Sequence[str], items: Sequence[Item]) -> Array:
    """Of each sentence what BLEU is made of: right n-grams, n-grams, its length and the reference's."""
    metric = BLEU()
    each = [metric.corpus_score([text], [[item.target]]) for text, item in zip(texts, items, strict=True)]
    return np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in each], dtype=float)


def _bleu(total: Array) -> float:
    *counts, length, reference = (int(number) for number in total)
    return float(BLEU.compute_bleu(counts[:_ORDERS], counts[_ORDERS:], length, reference).score)


def _bleu_change(before: Array, after: Array, tests: int) -> Figure:
    """The change of BLEU; its spread is that of the same change in samples drawn from the sentences."""
    change = _bleu(after.sum(axis=0)) - _bleu(before.sum(axis=0))
    chance = np.random.default_rng(SEED)
    drawn = chance.integers(len(before), size=(_RESAMPLES, len(before)))
    spread = np.std([_bleu(after[one].sum(axis=0)) - _bleu(before[one].sum(axis=0)) for one in drawn])
    reach = deviations(tests) * float(spread)
    return Figure(change, change - reach, change + reach, len(before))

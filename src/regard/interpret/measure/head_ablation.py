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

from regard.data.synthetic.generator import minimal_pairs
from regard.inference.backends.torch import TorchBackend
from regard.interpret.address import head_addresses
from regard.interpret.annotated_pairs import SEED, SPLIT, AnnotatedPair, PairSample
from regard.interpret.interventions import WAYS, HeadIntervention, IntervenedModel
from regard.interpret.measure.pronoun_task import PronounTask, contrast
from regard.interpret.teacher_forcing import Batch, log_probabilities, make_batches
from regard.interpret.trace import Array
from regard.progress import Progress, Work
from regard.settings.decode import DecodeSettings
from regard.statistics.intervals import Estimate, mean
from regard.statistics.multiplicity import z_score
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.interface import SequenceModel
    from regard.models.kinds.transformer import Transformer

GREEDY = DecodeSettings(beam_size=1, max_length_offset=12)  # a broken model should not babble for long

_RESAMPLES = 200

_ORDERS = 4


@dataclass(frozen=True)
class AblationEffect:
    """What changes: nats a piece (more is worse), BLEU, and the share of right pronouns (less is worse)."""

    loss: Estimate
    bleu: Estimate
    pronoun: Estimate | None


@dataclass(frozen=True)
class UnablatedScores:
    """How the model does as it is, and on how many: the values that the changes are from."""

    loss: Estimate
    bleu: float
    translated: int
    pronoun: Estimate | None


@dataclass(frozen=True)
class AblationCounts:
    """How many sentences are used for what; each head costs two passes over all of them."""

    loss: int = 100
    bleu: int = 60
    minimal_pairs: int = 40


def measure_ablation(
    model: "Transformer", tokenizer: SentencePieceTokenizer, sample: PairSample, counts: AblationCounts
) -> Work[tuple[UnablatedScores, dict[tuple[str, str], AblationEffect]]]:
    """How the model does, and for each head and way to change it, what that changes."""
    bench = _Bench(model, tokenizer, sample, counts)
    heads = head_addresses(model.settings)
    found: dict[tuple[str, str], AblationEffect] = {}
    for head in heads:
        for way in WAYS:
            found[head, way] = bench.worth(HeadIntervention([head], way), tests=len(heads))
            yield Progress("taking heads out, one by one", len(found), len(WAYS) * len(heads))
    return bench.whole(), found


class _Bench:
    """Sentences made ready, and what the whole model does with them."""

    def __init__(
        self, model: "Transformer", tokenizer: SentencePieceTokenizer, sample: PairSample, counts: AblationCounts
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        items = sample.pairs[: counts.loss]
        self._batches = make_batches(model, items)
        self._pieces = [len(item.written_ids) for item in items]
        self._translated = sample.pairs[: counts.bleu]
        self._pronouns = None
        if all(item.annotations for item in items):
            pairs = [pair for both in islice(minimal_pairs(SEED, SPLIT), counts.minimal_pairs) for pair in both]
            self._pronouns = PronounTask(model, [contrast(pair, tokenizer) for pair in pairs])
        self._loss = self._losses(None)
        self._counts = self._ngrams(model)
        self._right = self._rightness(None)

    def whole(self) -> UnablatedScores:
        right = mean(self._right) if self._right is not None else None
        bleu = _bleu(self._counts.sum(axis=0))
        return UnablatedScores(mean(self._loss, weights=self._pieces), bleu, len(self._translated), right)

    def worth(self, edit: HeadIntervention, tests: int) -> AblationEffect:
        loss = mean(self._losses(lambda _: edit) - self._loss, weights=self._pieces, tests=tests)
        right = self._rightness(lambda _: edit)
        changed = _bleu_change(self._counts, self._ngrams(IntervenedModel(self._model, edit)), tests)
        if right is None or self._right is None:
            return AblationEffect(loss, changed, None)
        # The two sentences of a flip are one case.
        return AblationEffect(loss, changed, mean((right - self._right).reshape(-1, 2).mean(axis=1), tests=tests))

    def _losses(self, edit: Callable[[Batch], HeadIntervention] | None) -> Array:
        """Nats a piece of each sentence."""
        return np.array([-logs.mean(dtype=float) for logs in log_probabilities(self._model, self._batches, edit)])

    def _rightness(self, edit: Callable[[Batch], HeadIntervention] | None) -> Array | None:
        return None if self._pronouns is None else (self._pronouns.preference(edit) > 0).astype(float)

    def _ngrams(self, model: "SequenceModel") -> Array:
        translator = TorchBackend(model, self._tokenizer, max_positions=self._model.settings.max_positions)
        found = translator.translate_all([item.source for item in self._translated], GREEDY)
        return ngrams([one.text for one in found], self._translated)


def ngrams(texts: Sequence[str], items: Sequence[AnnotatedPair]) -> Array:
    """Of each sentence what BLEU is made of: right n-grams, n-grams, its length and the reference's."""
    metric = BLEU()
    each = [metric.corpus_score([text], [[item.target]]) for text, item in zip(texts, items, strict=True)]
    return np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in each], dtype=float)


def _bleu(total: Array) -> float:
    *counts, length, reference = (int(number) for number in total)
    return float(BLEU.compute_bleu(counts[:_ORDERS], counts[_ORDERS:], length, reference).score)


def _bleu_change(before: Array, after: Array, tests: int) -> Estimate:
    """The change of BLEU; its spread is that of the same change in samples drawn from the sentences."""
    change = _bleu(after.sum(axis=0)) - _bleu(before.sum(axis=0))
    chance = np.random.default_rng(SEED)
    drawn = chance.integers(len(before), size=(_RESAMPLES, len(before)))
    spread = np.std([_bleu(after[one].sum(axis=0)) - _bleu(before[one].sum(axis=0)) for one in drawn])
    reach = z_score(tests) * float(spread)
    return Estimate(change, change - reach, change + reach, len(before))

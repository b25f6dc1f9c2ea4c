"""The ablation effect of each head: how much worse the model is without it, or with its attention made uniform.

The loss is measured on reference translations, and BLEU on greedy translations. On the synthetic language, the pronoun
accuracy says how often the model gives the correct French pronoun for "it" a higher probability than the incorrect one.
Every effect is the difference between the ablated and the unablated model on the same sentences, which removes most of
the variation between sentences.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU

from regard.data.synthetic.generator import minimal_pairs
from regard.inference.backends.torch import TorchBackend
from regard.inference.translator import Translator
from regard.interpret.address import check_has_heads
from regard.interpret.annotated_pairs import SEED, SPLIT, AnnotatedPair, PairSample
from regard.interpret.intervened_model import IntervenedModel
from regard.interpret.interventions import ABLATION_MODES, HeadIntervention
from regard.interpret.measure.head_roles import HeadProfile, measure_roles
from regard.interpret.measure.pronoun_task import PronounTask, contrast
from regard.interpret.teacher_forcing import MakeIntervention, log_probabilities, make_batches
from regard.interpret.trace import Array
from regard.progress import Progress, Work
from regard.settings.decode import DecodeSettings
from regard.statistics.bootstrap import bootstrap_standard_error
from regard.statistics.intervals import Estimate, mean
from regard.statistics.multiplicity import z_score
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

GREEDY = DecodeSettings(beam_size=1, max_length_offset=12)  # limits the length: an ablated model may never generate EOS

_RESAMPLES = 200

_NGRAM_ORDERS = 4


@dataclass(frozen=True)
class AblationEffect:
    """How the loss (in nats per token), BLEU and the pronoun accuracy change when a head is ablated."""

    loss: Estimate
    bleu: Estimate
    pronoun: Estimate | None


@dataclass(frozen=True)
class UnablatedScores:
    """The loss, BLEU and pronoun accuracy of the model without ablation.

    `translated` is the number of sentences that are translated to compute BLEU.
    """

    loss: Estimate
    bleu: float
    translated: int
    pronoun: Estimate | None


@dataclass(frozen=True)
class AblationCounts:
    """The number of sentences for the loss and for BLEU, and the number of minimal pairs for the pronoun accuracy."""

    loss: int = 100
    bleu: int = 60
    minimal_pairs: int = 40


@dataclass(frozen=True)
class HeadMeasurement:
    """The role and the ablation effect of every head of a model."""

    pairs: int
    data: str
    unablated: UnablatedScores
    profiles: tuple[HeadProfile, ...]
    ablation: dict[tuple[str, str], AblationEffect]  # the key is a head and an ablation mode

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        heads = [
            {**asdict(profile), "role": profile.role, "ablation_effect": self._effects(profile.address)}
            for profile in self.profiles
        ]
        return {"data": self.data, "pairs": self.pairs, "unablated": asdict(self.unablated), "heads": heads}

    def _effects(self, address: str) -> dict[str, Any]:
        return {mode: asdict(effect) for (head, mode), effect in self.ablation.items() if head == address}


def measure_heads(
    model: "AutoregressiveModel",
    tokenizer: SentencePieceTokenizer,
    sample: PairSample,
    *,
    counts: AblationCounts | None = None,
) -> Work[HeadMeasurement]:
    """Measure the role of every head, and the effect of ablating each head alone."""
    check_has_heads(model.anatomy())
    profiles = yield from measure_roles(model, sample)
    unablated, ablation = yield from measure_ablation(model, tokenizer, sample, counts or AblationCounts())
    return HeadMeasurement(len(sample), sample.name, unablated, profiles, ablation)


def measure_ablation(
    model: "AutoregressiveModel", tokenizer: SentencePieceTokenizer, sample: PairSample, counts: AblationCounts
) -> Work[tuple[UnablatedScores, dict[tuple[str, str], AblationEffect]]]:
    """Return the scores of the unablated model, and the effect of ablating each head in each mode."""
    evaluation = _Evaluation(model, tokenizer, sample, counts)
    heads = model.anatomy().heads
    effects: dict[tuple[str, str], AblationEffect] = {}
    for head in heads:
        for mode in ABLATION_MODES:
            effects[head, mode] = evaluation.effect(HeadIntervention([head], mode), tests=len(heads))
            yield Progress("ablating heads", len(effects), len(ABLATION_MODES) * len(heads))
    return evaluation.unablated(), effects


class _Evaluation:
    """The test sentences, prepared once for all heads, and the scores of the unablated model on each sentence."""

    def __init__(
        self,
        model: "AutoregressiveModel",
        tokenizer: SentencePieceTokenizer,
        sample: PairSample,
        counts: AblationCounts,
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        pairs = sample.pairs[: counts.loss]
        self._batches = make_batches(model, pairs)
        self._target_lengths = [len(pair.target_ids) for pair in pairs]
        self._translated = sample.pairs[: counts.bleu]
        self._pronouns = None
        if all(pair.annotations for pair in pairs):
            sentences = [one for both in islice(minimal_pairs(SEED, SPLIT), counts.minimal_pairs) for one in both]
            self._pronouns = PronounTask(model, [contrast(sentence, tokenizer) for sentence in sentences])
        self._losses = self._measure_losses(None)
        self._ngrams = self._count_ngrams(model)
        self._correct = self._correct_pronouns(None)

    def unablated(self) -> UnablatedScores:
        pronoun = mean(self._correct) if self._correct is not None else None
        bleu = corpus_bleu(self._ngrams.sum(axis=0))
        return UnablatedScores(mean(self._losses, weights=self._target_lengths), bleu, len(self._translated), pronoun)

    def effect(self, intervention: HeadIntervention, tests: int) -> AblationEffect:
        losses = self._measure_losses(lambda _: intervention)
        loss = mean(losses - self._losses, weights=self._target_lengths, tests=tests)
        correct = self._correct_pronouns(lambda _: intervention)
        bleu = _bleu_change(self._ngrams, self._count_ngrams(IntervenedModel(self._model, intervention)), tests)
        if correct is None or self._correct is None:
            return AblationEffect(loss, bleu, None)
        # The two sentences of a minimal pair are not independent, so they count as one case.
        pronoun = mean((correct - self._correct).reshape(-1, 2).mean(axis=1), tests=tests)
        return AblationEffect(loss, bleu, pronoun)

    def _measure_losses(self, intervention: MakeIntervention | None) -> Array:
        """Return the loss of each sentence in nats per token."""
        logs = log_probabilities(self._model, self._batches, intervention)
        return np.array([-sentence.mean(dtype=float) for sentence in logs])

    def _correct_pronouns(self, intervention: MakeIntervention | None) -> Array | None:
        return None if self._pronouns is None else (self._pronouns.preference(intervention) > 0).astype(float)

    def _count_ngrams(self, model: "AutoregressiveModel") -> Array:
        backend = TorchBackend(model, self._tokenizer.generable)
        translator = Translator(backend, self._tokenizer, max_positions=self._model.settings.max_positions)
        translations = translator.translate([pair.source for pair in self._translated], GREEDY)
        return ngram_counts([translation.text for translation in translations], self._translated)


def ngram_counts(texts: Sequence[str], pairs: Sequence[AnnotatedPair]) -> Array:
    """Return the statistics of each translation from which BLEU is computed.

    For each n from 1 to 4, these are the number of matching n-grams and the number of all n-grams; then the length of
    the translation, and the length of the reference.
    """
    metric = BLEU()
    scores = [metric.corpus_score([text], [[pair.target]]) for text, pair in zip(texts, pairs, strict=True)]
    return np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores], dtype=float)


def corpus_bleu(total: Array) -> float:
    """Return corpus BLEU, computed from the sum of the `ngram_counts` of all sentences."""
    *counts, length, reference = (int(number) for number in total)
    return float(BLEU.compute_bleu(counts[:_NGRAM_ORDERS], counts[_NGRAM_ORDERS:], length, reference).score)


def _bleu_change(before: Array, after: Array, tests: int) -> Estimate:
    """Return the change of BLEU, with a confidence interval from its bootstrap standard error."""
    change = corpus_bleu(after.sum(axis=0)) - corpus_bleu(before.sum(axis=0))

    def resampled_change(rows: npt.NDArray[np.int64]) -> float:
        return corpus_bleu(after[rows].sum(axis=0)) - corpus_bleu(before[rows].sum(axis=0))

    error = bootstrap_standard_error(resampled_change, len(before), resamples=_RESAMPLES, seed=SEED)
    reach = z_score(tests) * error
    return Estimate(change, change - reach, change + reach, len(before))

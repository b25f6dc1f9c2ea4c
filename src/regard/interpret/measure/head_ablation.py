"""The ablation effect of each head: how much worse the model is without it, or with its attention made uniform.

The loss is measured on reference translations. Without a head, the model also translates the sentences again with a
greedy search: the effect is how many translations change, and by how much BLEU changes. On the synthetic language, the
pronoun accuracy says how often the model gives the correct French pronoun for "it" a higher probability than the
incorrect one. Every effect is the difference between the ablated and the unablated model on the same sentences, which
removes most of the variation between sentences.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from regard.data.synthetic.generator import minimal_pairs
from regard.inference.backends.torch import TorchBackend
from regard.inference.translator import Translator
from regard.interpret.address import check_has_heads
from regard.interpret.annotated_pairs import SEED, SPLIT, AnnotatedPair, PairSample
from regard.interpret.intervened_model import IntervenedModel
from regard.interpret.interventions import ABLATION_MODES, HeadIntervention
from regard.interpret.measure.head_roles import HeadProfile, measure_roles
from regard.interpret.measure.pronoun_baselines import coreference_of
from regard.interpret.measure.pronoun_task import PronounTask, contrast
from regard.interpret.teacher_forcing import MakeIntervention, encode_batches, log_probabilities
from regard.interpret.trace import Array
from regard.progress import Progress, Work
from regard.settings.decode import DecodeSettings
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import mean, proportion, proportion_change
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

GREEDY = DecodeSettings(beam_size=1, max_length_offset=12)  # limits the length: an ablated model may never generate EOS

_NGRAM_ORDERS = 4

COMPARISONS = 4  # for each head: the loss in two modes, the translations, and the pronouns


@dataclass(frozen=True)
class AblationEffect:
    """How the loss (in nats per token), the translations and the pronoun accuracy change when a head is ablated.

    `changed` is the proportion of translations that change, and `bleu` is the change of BLEU. Both are measured only if
    the output of the head is set to zero.
    """

    loss: Estimate
    changed: Estimate | None = None
    bleu: float | None = None
    pronoun: Estimate | None = None


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
) -> Work[HeadMeasurement]:
    """Measure the role of every head, and the effect of ablating each head alone.

    If the sample has annotations, the pronoun accuracy is measured on as many minimal pairs.
    """
    check_has_heads(model.anatomy())
    profiles = yield from measure_roles(model, sample)
    unablated, ablation = yield from measure_ablation(model, tokenizer, sample)
    return HeadMeasurement(len(sample), sample.name, unablated, profiles, ablation)


def measure_ablation(
    model: "AutoregressiveModel", tokenizer: SentencePieceTokenizer, sample: PairSample
) -> Work[tuple[UnablatedScores, dict[tuple[str, str], AblationEffect]]]:
    """Return the scores of the unablated model, and the effect of ablating each head in each mode."""
    evaluation = _Evaluation(model, tokenizer, sample)
    heads = model.anatomy().heads
    effects: dict[tuple[str, str], AblationEffect] = {}
    for head in heads:
        for mode in ABLATION_MODES:
            effects[head, mode] = evaluation.effect(HeadIntervention([head], mode), tests=len(heads) * COMPARISONS)
            yield Progress("ablating heads", len(effects), len(ABLATION_MODES) * len(heads))
    return evaluation.unablated(), effects


class _Evaluation:
    """The test sentences, prepared once for all heads, and the scores of the unablated model on each sentence."""

    def __init__(
        self,
        model: "AutoregressiveModel",
        tokenizer: SentencePieceTokenizer,
        sample: PairSample,
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._pairs = sample.pairs
        self._batches = encode_batches(model, self._pairs)
        self._target_lengths = [len(pair.target_ids) for pair in self._pairs]
        self._pronouns, self._frames = None, [""]
        if all(pair.annotations for pair in self._pairs):
            sentences = [one for both in islice(minimal_pairs(SEED, SPLIT), len(sample)) for one in both]
            self._pronouns = PronounTask(model, [contrast(sentence, tokenizer) for sentence in sentences])
            self._frames = [coreference_of(sentence).frame or "" for sentence in sentences]
        self._losses = self._measure_losses(None)
        self._translations = self._translate(model)
        self._ngrams = ngram_counts(self._translations, self._pairs)
        self._correct = self._correct_pronouns(None)

    def unablated(self) -> UnablatedScores:
        pronoun = None
        if self._correct is not None:
            pronoun = proportion(self._correct, np.ones(len(self._correct)), clusters=self._frames)
        bleu = corpus_bleu(self._ngrams.sum(axis=0))
        return UnablatedScores(mean(self._losses, weights=self._target_lengths), bleu, len(self._pairs), pronoun)

    def effect(self, intervention: HeadIntervention, tests: int) -> AblationEffect:
        losses = self._measure_losses(lambda _: intervention)
        loss = mean(losses - self._losses, weights=self._target_lengths, tests=tests)
        if intervention.mode != "zeroed":
            return AblationEffect(loss)
        translations = self._translate(IntervenedModel(self._model, intervention))
        ngrams = ngram_counts(translations, self._pairs)
        bleu = corpus_bleu(ngrams.sum(axis=0)) - corpus_bleu(self._ngrams.sum(axis=0))
        is_changed = [one != other for one, other in zip(translations, self._translations, strict=True)]
        changed = proportion(is_changed, np.ones(len(is_changed)), tests=tests)
        correct = self._correct_pronouns(lambda _: intervention)
        if correct is None or self._correct is None:
            return AblationEffect(loss, changed, bleu)
        pronoun = proportion_change(self._correct, correct, clusters=self._frames, tests=tests)
        return AblationEffect(loss, changed, bleu, pronoun)

    def _measure_losses(self, intervention: MakeIntervention | None) -> Array:
        """Return the loss of each sentence in nats per token."""
        logs = log_probabilities(self._model, self._batches, intervention)
        return np.array([-sentence.mean(dtype=float) for sentence in logs])

    def _correct_pronouns(self, intervention: MakeIntervention | None) -> Array | None:
        return None if self._pronouns is None else self._pronouns.preference(intervention) > 0

    def _translate(self, model: "AutoregressiveModel") -> list[str]:
        backend = TorchBackend(model, self._tokenizer.generable)
        translator = Translator(backend, self._tokenizer, max_positions=self._model.settings.max_positions)
        translations = translator.translate([pair.source for pair in self._pairs], GREEDY)
        return [translation.text for translation in translations]


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

"""The pronoun experiment: does attention resolve "it", and does the French pronoun depend on that attention?

The two sentences of a minimal pair differ in one word, the cue, which decides what "it" refers to: "… because it was
too tired", "… too wide". The antecedent is the noun that "it" refers to, and the distractor is the other noun.
Antecedent heads are found on one half of the pairs. On the other half, the model is compared with baselines, and the
heads are intervened on.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.data.synthetic import Pair
from regard.interpret.address import check_has_heads
from regard.interpret.interventions import without_positions
from regard.interpret.measure.antecedent_heads import (
    MAX_HEADS,
    AntecedentHead,
    QueryHead,
    describe_head,
    directions,
    noun_weights,
    p_values,
    rank,
)
from regard.interpret.measure.famous_sentences import famous_lines
from regard.interpret.measure.pronoun_baselines import PronounAccuracy, baselines, frames_of, pronoun_accuracy
from regard.interpret.measure.pronoun_interventions import PronounIntervention, PronounInterventions
from regard.interpret.measure.pronoun_task import QUERIES, MinimalPair, PronounTask, contrast
from regard.interpret.measure.pronoun_verdict import Verdict, decide
from regard.interpret.trace import Array
from regard.models.build import build_untrained
from regard.progress import Progress, Work
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion
from regard.statistics.multiplicity import SIGNIFICANCE_LEVEL
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

UNTRAINED_MODELS = 5

_PRONOUN = re.compile(r"\b(ils?|elles?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class UntrainedModels:
    """What the same search finds in untrained models of the same architecture."""

    models: int
    with_heads: int  # the number of models in which any head is significant
    best_pair_accuracy: float  # the largest proportion of pairs in which any head prefers the antecedent in both


@dataclass(frozen=True)
class PronounExperiment:
    """The results of the pronoun experiment with one model, and the conclusion from them."""

    pairs: int  # one half finds the heads; everything else is measured on the other half
    frames: int  # the number of relations between the two nouns
    questions: int  # the number of combinations of a query and a head
    changed: int  # the number of pairs in which the preference of the best head changes
    antecedent_heads: tuple[AntecedentHead, ...]  # the significant heads, best first; if there are none, the best head
    untrained: UntrainedModels
    translation_pair_accuracy: Estimate  # the proportion of pairs with the correct pronoun in both translations
    baselines: tuple[PronounAccuracy, ...]  # first the model itself, then the model without positions, if it has any
    interventions: tuple[PronounIntervention, ...]  # none if no head is significant
    # The best encoder head among the significant heads, or None if all of these are in the decoder. If no head is
    # significant, the best encoder head of all.
    best_encoder_head: QueryHead | None
    famous: tuple[str, ...]  # lines about the attention in the two famous sentences

    @property
    def significant(self) -> bool:
        return any(head.is_significant for head in self.antecedent_heads)

    @property
    def accuracy(self) -> Estimate:
        """The proportion of sentences in which the model prefers the correct pronoun."""
        return self.baselines[0].accuracy

    @property
    def verdict(self) -> Verdict:
        """The conclusion that the results support."""
        heads = self.antecedent_heads if self.significant else ()
        return decide(self.accuracy, self.baselines[0].swappable, heads, self.interventions)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return {**asdict(self), "verdict": asdict(self.verdict)}


def run_pronoun_experiment(
    model: "AutoregressiveModel",
    tokenizer: SentencePieceTokenizer,
    pairs: Sequence[tuple[Pair, Pair]],
    translate: Callable[[Sequence[str]], Iterable[str]],
) -> Work[PronounExperiment]:
    """Find antecedent heads, then intervene on them. `translate` is the usual translation function of the model."""
    check_has_heads(model.anatomy())
    minimal_pairs = [(contrast(first, tokenizer), contrast(second, tokenizer)) for first, second in pairs]
    frames = frames_of(pairs)
    finding, testing = slice(0, None, 2), slice(1, None, 2)
    weights = yield from noun_weights(model, minimal_pairs, "recording attention")
    found = {query_head: table[finding] for query_head, table in weights.items()}
    p = p_values(found, frames[finding])
    ranked = rank(p)
    significant = [query_head for query_head in ranked if p[query_head] <= SIGNIFICANCE_LEVEL][:MAX_HEADS]
    heads = [
        describe_head(each, p, (found[each], frames[finding]), (weights[each][testing], frames[testing]))
        for each in significant or ranked[:1]
    ]
    untrained = yield from _untrained(model, minimal_pairs[finding], frames[finding])
    yield Progress("translating", 0, 1)
    translated = pronouns_correct(pairs[testing], translate)
    translation = proportion(translated, np.ones(len(translated)), clusters=frames[testing])
    assert translation is not None
    yield Progress("running the baselines", 0, 1)
    accuracies = _pronoun_accuracies(model, minimal_pairs[testing], pairs[testing])
    interventions: tuple[PronounIntervention, ...] = ()
    if significant:
        experiment = PronounInterventions(model, minimal_pairs[testing], frames[testing])
        interventions = yield from experiment.run(significant)
    in_encoder = (each for each in significant or ranked if QUERIES[each[0]] == ("source", "source"))
    best_encoder_head = next(in_encoder, None)
    return PronounExperiment(
        len(pairs),
        len(set(frames)),
        len(weights),
        int(np.abs(directions(found[ranked[0]])).sum()),
        tuple(heads),
        untrained,
        translation,
        accuracies,
        interventions,
        best_encoder_head,
        famous_lines(model, tokenizer, best_encoder_head),
    )


def _untrained(
    model: "AutoregressiveModel", minimal_pairs: Sequence[MinimalPair], frames: Sequence[str]
) -> Work[UntrainedModels]:
    with_heads, best = 0, 0.0
    for seed in range(UNTRAINED_MODELS):
        untrained = build_untrained(model, seed=seed)
        weights = yield from noun_weights(untrained, minimal_pairs, "recording untrained models")
        with_heads += min(p_values(weights, frames).values()) <= SIGNIFICANCE_LEVEL
        best = max(best, *(float((directions(table) == 1).mean()) for table in weights.values()))
    return UntrainedModels(UNTRAINED_MODELS, with_heads, best)


def _pronoun_accuracies(
    model: "AutoregressiveModel", minimal_pairs: Sequence[MinimalPair], pairs: Sequence[tuple[Pair, Pair]]
) -> tuple[PronounAccuracy, ...]:
    """Return the pronoun accuracy of the model and of the baselines.

    A model with a positional encoding is also measured without it.
    """
    contrasts = [sentence for both in minimal_pairs for sentence in both]
    models = {"this model": model}
    if model.positions is not None:
        models["this model without positions"] = without_positions(model)
    scored = [
        pronoun_accuracy(name, PronounTask(each, contrasts).preference() > 0, pairs) for name, each in models.items()
    ]
    return (*scored, *baselines(pairs))


def pronouns_correct(pairs: Sequence[tuple[Pair, Pair]], translate: Callable[[Sequence[str]], Iterable[str]]) -> Array:
    """Return, for each pair, whether both translations have the correct pronoun."""
    sentences = [sentence for both in pairs for sentence in both]
    written = [_last_pronoun(text) for text in translate([sentence.source for sentence in sentences])]
    expected = [_last_pronoun(sentence.target) for sentence in sentences]
    correct = np.array([pronoun == reference for pronoun, reference in zip(written, expected, strict=True)])
    return np.asarray(correct.reshape(-1, 2).all(axis=1).astype(float))


def _last_pronoun(text: str) -> str | None:
    """Return the last pronoun of a French text. It is the translation of "it", which is in the last clause."""
    pronouns = _PRONOUN.findall(text)
    return pronouns[-1].lower() if pronouns else None

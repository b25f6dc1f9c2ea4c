"""The role of each head: which token or word it attends to most.

A head has a positional role, such as "previous", if at least 90% of its queries attend most to that position (Voita,
2019). It has a word role, such as "verb → subject", if its accuracy is at least ten points above two baselines: the
best rule that ignores the words (a fixed offset; for alignment also the diagonal; for "it" also always the first or
always the last of the two nouns), and the best head of several untrained models of the same architecture. For every
role, the lower bound of the confidence interval must also be above both baselines. Intervals are corrected for all
questions: every role that is measured, for every head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from regard.interpret.annotated_pairs import AnnotatedPair, PairSample
from regard.interpret.measure.role_criteria import (
    POSITIONAL_ROLES,
    WordRelation,
    positional_hits,
    rare_token_hits,
    relation_hits,
    roles_of,
    rule_hits,
    word_relations,
)
from regard.interpret.teacher_forcing import attention_weights
from regard.interpret.trace import Array
from regard.models.build import build_untrained
from regard.progress import Progress, Work
from regard.settings.anatomy import Attention
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

POSITIONAL_ACCURACY = 0.9  # the minimum accuracy for a positional role

MIN_LIFT = 0.1  # for a word role, the accuracy must exceed both baselines by at least this much

UNIFORM_ENTROPY = 0.95  # a head with at least this proportion of the maximum entropy is called uniform

UNTRAINED_MODELS = 3  # the number of untrained models whose best head is a baseline

MIN_CASES = 30  # the minimum number of cases; with fewer, no result is reported


@dataclass(frozen=True)
class RoleScore:
    """How often a head attends most to the token or word that a role requires, and the same for two baselines."""

    accuracy: Estimate
    baseline: float  # the accuracy of the best rule without words (for roles about words) or of random attention
    untrained: float  # the accuracy of the best head of several untrained models of the same architecture

    @property
    def lift(self) -> float:
        """How much the accuracy exceeds the better baseline."""
        return self.accuracy.value - max(self.baseline, self.untrained)

    @property
    def is_significant(self) -> bool:
        """Whether the accuracy is above both baselines, and not by chance."""
        return self.accuracy.low > max(self.baseline, self.untrained)


@dataclass(frozen=True)
class HeadProfile:
    """The attention of one head: how concentrated it is, and its score for each role."""

    address: str
    confidence: float  # the mean over queries of the largest attention weight on a token other than EOS
    entropy: float  # the mean entropy of the attention weights of a query, in nats
    normalised_entropy: float  # the mean of the entropy divided by the entropy of uniform attention
    special_token_weight: float  # the mean weight on EOS; in decoder self-attention, on BOS
    queries: int  # the number of queries of these means
    role_scores: dict[str, RoleScore]

    @property
    def role(self) -> str | None:
        """The role of the head, or None if it qualifies for no role.

        A head with nearly uniform attention is "uniform". Otherwise, its most accurate positional role is returned.
        If it has no positional role, its other role with the largest lift is returned.
        """
        if self.normalised_entropy >= UNIFORM_ENTROPY:
            return "uniform"  # with nearly equal weights, it is a matter of chance which one is the largest
        scores = {
            role: score
            for role, score in self.role_scores.items()
            if score.accuracy.count >= MIN_CASES and score.is_significant
        }
        positional = [
            role for role in POSITIONAL_ROLES if role in scores and scores[role].accuracy.value >= POSITIONAL_ACCURACY
        ]
        if positional:
            return max(positional, key=lambda role: scores[role].accuracy.value)
        words = [role for role, score in scores.items() if role not in POSITIONAL_ROLES and score.lift >= MIN_LIFT]
        return max(words, key=lambda role: scores[role].lift) if words else None


@dataclass
class _Tally:
    """The hits of all heads of one attention, counted for each role and sentence.

    A hit is a case in which a head attends most to the token or word that the role requires.
    """

    attention: Attention
    hits: dict[str, list[Array]] = field(default_factory=dict)
    cases: dict[str, list[int]] = field(default_factory=dict)
    chance_hits: dict[str, float] = field(default_factory=dict)
    rule_hits: dict[str, Array] = field(default_factory=dict)
    sums: Array = field(default_factory=lambda: np.zeros(0))  # the sum of the arrays that `concentration` returns
    rows: int = 0  # the number of queries

    def add(self, role: str, hits_H: Array, cases: int, chance_hits: float = 0.0) -> None:
        self.hits.setdefault(role, []).append(hits_H)
        self.cases.setdefault(role, []).append(cases)
        self.chance_hits[role] = self.chance_hits.get(role, 0.0) + chance_hits


def measure_roles(model: "AutoregressiveModel", sample: PairSample) -> Work[tuple[HeadProfile, ...]]:
    """Return the profile of each head of the model."""
    tallies = yield from _count(model, sample, "recording attention")
    untrained = []
    for seed in range(UNTRAINED_MODELS):
        recorded = yield from _count(build_untrained(model, seed=seed), sample, "recording untrained models")
        untrained.append(recorded)
    profiles = []
    tests = sum(tally.attention.heads * sum(map(any, tally.cases.values())) for tally in tallies.values())
    for address, tally in tallies.items():
        best = _best_accuracies(untrained, tally.attention)
        for head in range(tally.attention.heads):
            scores = {
                role: RoleScore(accuracy, _baseline(tally, role), best[role])
                for role in roles_of(tally.attention)
                if (accuracy := _accuracy(tally, role, head, tests))
            }
            confidence, entropy, normalised, special = (float(total) / max(1, tally.rows) for total in tally.sums[head])
            means = (confidence, entropy, normalised, special)
            profiles.append(HeadProfile(f"{address}.{head + 1}", *means, tally.rows, scores))
    return tuple(profiles)


def _count(model: "AutoregressiveModel", sample: PairSample, stage: str) -> Work[dict[str, _Tally]]:
    tallies = {attention.address: _Tally(attention) for attention in model.anatomy().attentions}
    for tally in tallies.values():
        tally.sums = np.zeros((tally.attention.heads, 4))
    for done, (index, weights) in enumerate(attention_weights(model, sample.pairs), start=1):
        pair = sample.pairs[index]
        relations = word_relations(pair)
        for attention, weights_HLM in weights.items():
            _add_pair(tallies[attention], weights_HLM, pair, relations)
        yield Progress(stage, done, len(sample))
    return tallies


def _add_pair(tally: _Tally, weights_HLM: Array, pair: AnnotatedPair, relations: dict[str, list[WordRelation]]) -> None:
    roles = roles_of(tally.attention)
    for counts in positional_hits(weights_HLM, tally.attention):
        tally.add(*counts)
    if "rare" in roles:
        tally.add("rare", *rare_token_hits(weights_HLM, pair))
    for role in (role for role in roles if role in relations):
        cases = relations[role]
        tally.add(role, relation_hits(weights_HLM, pair.source_words, cases).sum(axis=0), len(cases))
        tally.rule_hits[role] = tally.rule_hits.get(role, 0) + rule_hits(cases, pair, tally.attention)
    tally.rows += weights_HLM.shape[1]
    tally.sums += concentration(weights_HLM, tally.attention)


def concentration(weights_HLM: Array, attention: Attention) -> Array:
    """Return the confidence, entropy, normalised entropy and special token weight of each head, summed over queries."""
    # The source ends with EOS, and the input of the decoder begins with BOS.
    special = 0 if attention.keys == "target" else -1
    words = weights_HLM if attention.keys == "target" else weights_HLM[:, :, :-1]
    logs = np.log(np.where(weights_HLM > 0, weights_HLM, 1))
    entropy_HL = -(weights_HLM * logs).sum(axis=-1)
    rows, columns = weights_HLM.shape[1:]
    maximum_L = np.log(np.arange(1, rows + 1) if attention.causal else np.full(rows, columns))
    normalised_HL = np.divide(entropy_HL, maximum_L, out=np.ones_like(entropy_HL), where=maximum_L > 0)
    return np.stack(
        [
            words.max(axis=-1).sum(axis=1),
            entropy_HL.sum(axis=1),
            normalised_HL.sum(axis=1),
            weights_HLM[:, :, special].sum(axis=1),
        ],
        axis=1,
    )


def _accuracy(tally: _Tally, role: str, head: int, tests: int) -> Estimate | None:
    if role not in tally.hits:
        return None
    return proportion([float(hits_H[head]) for hits_H in tally.hits[role]], tally.cases[role], tests=tests)


def _baseline(tally: _Tally, role: str) -> float:
    cases = sum(tally.cases[role])
    hits = float(tally.rule_hits[role].max()) if role in tally.rule_hits else tally.chance_hits[role]
    return hits / cases if cases else 0.0


def _best_accuracies(models: Sequence[dict[str, _Tally]], attention: Attention) -> dict[str, float]:
    """Return, for each role, the accuracy of the best head of all models, among those of one kind of attention."""
    return {
        role: max((one for tallies in models for one in _accuracies(tallies, attention.kind, role)), default=0.0)
        for role in roles_of(attention)
    }


def _accuracies(tallies: dict[str, _Tally], kind: str, role: str) -> Iterator[float]:
    for tally in tallies.values():
        cases = sum(tally.cases.get(role, []))
        if tally.attention.kind == kind and cases:
            yield from (np.sum(tally.hits[role], axis=0) / cases).tolist()

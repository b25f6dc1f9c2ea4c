"""What each head does, measured: where it looks, how surely, and which role that makes.

A head has a role among places if it looks there 9 times of 10 (Voita, 2019). It has a role among words if it is right
ten points more often than the best rule that always looks so many words ahead, and than the best head of the same
architecture before it learnt anything; and more often than both at the lower end of an interval made for all heads.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from regard.interpret.address import attention_addresses, head_addresses, kind_of
from regard.interpret.annotated_pairs import AnnotatedPair, PairSample
from regard.interpret.measure.role_criteria import (
    CRITERIA,
    POSITIONAL,
    Cell,
    hits,
    offset_hits,
    positional,
    rare,
    relations,
)
from regard.interpret.teacher_forcing import attention_weights
from regard.interpret.trace import Array
from regard.models.build import build_untrained
from regard.progress import Progress, Work
from regard.statistics.intervals import Estimate, proportion

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

OFTEN = 0.9

LIFT = 0.1

EVEN = 0.95  # of the most entropy there can be

FEW = 30  # cases, below which nothing is said


@dataclass(frozen=True)
class RoleScore:
    """How often a head looks where a question asks, and how often others do who know less."""

    found: Estimate
    baseline: float  # the best fixed offset among words; among places, a look anywhere
    untrained: float  # the best head of the same architecture before it learnt anything

    @property
    def lift(self) -> float:
        return self.found.value - max(self.baseline, self.untrained)


@dataclass(frozen=True)
class HeadProfile:
    """One head: how sharply it looks, and its answers to what heads of its kind are asked."""

    address: str
    confidence: float  # the mean of the largest weight, the end mark left out
    entropy: float  # in nats
    evenness: float  # of its entropy, as a share of what looking everywhere alike would have
    mark: float  # the share of weight on the end mark; in the decoder's self-attention, on the start mark
    answers: dict[str, RoleScore]

    @property
    def role(self) -> str | None:
        """What the head is for, as far as it looks; None if nothing stands out."""
        if self.evenness >= EVEN:
            return "even"  # and where it looks most is chance
        sure = {name: answer for name, answer in self.answers.items() if answer.found.count >= FEW}
        places = [name for name in POSITIONAL if name in sure and sure[name].found.value >= OFTEN]
        if places:
            return max(places, key=lambda name: sure[name].found.value)
        words = [name for name, answer in sure.items() if name not in POSITIONAL and _stands_out(answer)]
        return max(words, key=lambda name: sure[name].lift) if words else None


def _stands_out(answer: RoleScore) -> bool:
    others = max(answer.baseline, answer.untrained)
    return answer.lift >= LIFT and answer.found.low > others


@dataclass
class _Tally:
    """What the heads of one attention did, sentence by sentence."""

    heads: int
    hits: dict[str, list[Array]] = field(default_factory=dict)
    cases: dict[str, list[int]] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)  # hits by looking anywhere
    rules: dict[str, Array] = field(default_factory=dict)  # hits of each fixed offset
    sums: Array = field(default_factory=lambda: np.zeros(0))  # confidence, entropy, evenness, mark
    rows: int = 0

    def add(self, name: str, hits_H: Array, cases: int, expected: float = 0.0) -> None:
        self.hits.setdefault(name, []).append(hits_H)
        self.cases.setdefault(name, []).append(cases)
        self.expected[name] = self.expected.get(name, 0.0) + expected


def measure_heads(model: "Transformer", sample: PairSample) -> Work[tuple[HeadProfile, ...]]:
    """A card for each head of the model."""
    trained = yield from _tallied(model, sample, "watching heads")
    blank = yield from _tallied(build_untrained(model), sample, "watching them untrained")
    cards = []
    tests = len(head_addresses(model.settings))
    for attention, tally in trained.items():
        best = _best(blank, kind_of(attention))
        for head in range(tally.heads):
            answers = {
                name: RoleScore(found, _baseline(tally, name), best[name])
                for name in CRITERIA[kind_of(attention)]
                if (found := _figure(tally, name, head, tests))
            }
            sure, entropy, even, mark = (float(number) / max(1, tally.rows) for number in tally.sums[head])
            cards.append(HeadProfile(f"{attention}.{head + 1}", sure, entropy, even, mark, answers))
    return tuple(cards)


def _tallied(model: "Transformer", sample: PairSample, stage: str) -> Work[dict[str, _Tally]]:
    tallies = {name: _Tally(model.settings.heads) for name in attention_addresses(model.settings)}
    for tally in tallies.values():
        tally.sums = np.zeros((tally.heads, 4))
    for done, (at, weights) in enumerate(attention_weights(model, sample.pairs), start=1):
        item = sample.pairs[at]
        known = relations(item)
        for attention, weights_HLM in weights.items():
            _look(tallies[attention], kind_of(attention), weights_HLM, item, known)
        yield Progress(stage, done, len(sample))
    return tallies


def _look(tally: _Tally, kind: str, weights_HLM: Array, item: AnnotatedPair, known: dict[str, list[Cell]]) -> None:
    for answer in positional(weights_HLM, kind):
        tally.add(*answer)
    if kind == "encoder.self":
        tally.add("rare", *rare(weights_HLM, item))
    for name in (name for name in CRITERIA[kind] if name in known):
        cells = known[name]
        tally.add(name, hits(weights_HLM, item.source_words, cells).sum(axis=0), len(cells))
        rules = offset_hits(cells, len(item.source_words))
        tally.rules[name] = tally.rules.get(name, 0) + rules
    tally.rows += weights_HLM.shape[1]
    tally.sums += sharpness(weights_HLM, kind)


def sharpness(weights_HLM: Array, kind: str) -> Array:
    """For each head confidence, entropy, evenness and the weight on the mark, summed over rows."""
    marked = 0 if kind == "decoder.self" else -1
    words = weights_HLM if kind == "decoder.self" else weights_HLM[:, :, :-1]
    logs = np.log(np.where(weights_HLM > 0, weights_HLM, 1))
    entropy_HL = -(weights_HLM * logs).sum(axis=-1)
    rows, columns = weights_HLM.shape[1:]
    most_L = np.log(np.arange(1, rows + 1) if kind == "decoder.self" else np.full(rows, columns))
    even_HL = np.divide(entropy_HL, most_L, out=np.ones_like(entropy_HL), where=most_L > 0)
    return np.stack(
        [
            words.max(axis=-1).sum(axis=1),
            entropy_HL.sum(axis=1),
            even_HL.sum(axis=1),
            weights_HLM[:, :, marked].sum(axis=1),
        ],
        axis=1,
    )


def _figure(tally: _Tally, name: str, head: int, tests: int) -> Estimate | None:
    if name not in tally.hits:
        return None
    return proportion([float(one[head]) for one in tally.hits[name]], tally.cases[name], tests=tests)


def _baseline(tally: _Tally, name: str) -> float:
    cases = sum(tally.cases[name])
    best = float(tally.rules[name].max()) if name in tally.rules else tally.expected[name]
    return best / cases if cases else 0.0


def _best(tallies: dict[str, _Tally], kind: str) -> dict[str, float]:
    """For each question the share of the head that is best at it."""
    return {name: max(_shares(tallies, kind, name), default=0.0) for name in CRITERIA[kind]}


def _shares(tallies: dict[str, _Tally], kind: str, name: str) -> Iterator[float]:
    for attention, tally in tallies.items():
        cases = sum(tally.cases.get(name, []))
        if kind_of(attention) == kind and cases:
            yield from (np.sum(tally.hits[name], axis=0) / cases).tolist()

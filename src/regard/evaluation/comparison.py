"""Two translators side by side: whether one is better, by how much and how surely, and where they differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import UserError
from regard.evaluation.scores import METRICS, Scorer, Scores, SegmentStatistics
from regard.evaluation.significance import KINDS, SignificanceTest, paired_test
from regard.progress import Progress, Work

CLEAR = 0.05  # both tests must find p below

MOST = 20_000  # sentences; the tests hold some 0.1 MB for each


@dataclass(frozen=True)
class MetricComparison:
    """One metric of both translators."""

    metric: str
    score: float
    against: float
    bootstrap: SignificanceTest
    randomisation: SignificanceTest

    @property
    def difference(self) -> float:
        return self.score - self.against

    @property
    def better(self) -> bool | None:
        """Whether the first is better than the second; None if chance may be all there is."""
        if max(self.bootstrap.p, self.randomisation.p) >= CLEAR:
            return None
        return self.difference < 0 if self.metric == "ter" else self.difference > 0


@dataclass(frozen=True)
class Difference:
    """A sentence that the two wrote differently, with the chrF of each."""

    sentence: int  # counted from 1
    source: str
    references: tuple[str, ...]
    translation: str
    against: str
    chrf: float
    against_chrf: float


@dataclass(frozen=True)
class Comparison:
    """What there is to say of two translators."""

    scores: Scores  # the second's
    metrics: tuple[MetricComparison, ...]
    alike: int  # sentences that both wrote the same
    differences: tuple[Difference, ...]  # all other sentences, those whose chrF differs most first

    def verdict(self, name: str, other: str) -> str:
        """The comparison in a sentence."""
        if not self.differences:
            return f"{name} and {other} wrote the same text for every sentence: there is no difference."
        found = {
            better: _listed([METRICS[one.metric] for one in self.metrics if one.better is better])
            for better in (True, False, None)
        }
        clear = [
            f"{name} is {word} than {other} by {found[better]}"
            for better, word in ((True, "better"), (False, "worse"))
            if found[better]
        ]
        if not clear:
            return f"No clear difference: whatever {name} and {other} differ by may be chance."
        return "; ".join([*clear, *([f"by {found[None]} there is no clear difference"] if found[None] else [])]) + "."


def check_size(sentences: int) -> None:
    """Whether the tests would fit into memory."""
    if sentences > MOST:
        raise UserError(
            f"{sentences:,} sentences are too many to compare two models on: the tests hold some 0.1 MB of memory for "
            f"each; give at most {MOST:,}"
        )


def compare(
    judge: Scorer,
    texts: Sequence[tuple[str, tuple[str, ...]]],
    ours: tuple[Sequence[str], Sequence[SegmentStatistics]],
    theirs: tuple[Sequence[str], Sequence[SegmentStatistics]],
) -> Work[Comparison]:
    """Compare two translators by what they wrote for texts with references, and by its counts."""
    (translations, counts), (others, other_counts) = ours, theirs
    scores = judge.figures(counts), judge.figures(other_counts)
    metrics = []
    for number, name in enumerate(METRICS):
        chances: list[SignificanceTest] = []
        for kind in KINDS:
            yield Progress("comparing", 2 * number + len(chances), 2 * len(METRICS))
            chances.append(paired_test(judge, name, counts, other_counts, kind))
        metrics.append(MetricComparison(name, scores[0][name], scores[1][name], *chances))
    differences = [
        Difference(
            number + 1, *text, one, other, *(judge.figures([each[number]])["chrf"] for each in (counts, other_counts))
        )
        for number, (text, one, other) in enumerate(zip(texts, translations, others, strict=True))
        if one != other
    ]
    differences.sort(key=lambda found: -abs(found.chrf - found.against_chrf))
    return Comparison(judge.scores(other_counts), tuple(metrics), len(texts) - len(differences), tuple(differences))


def _listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)

"""The comparison of two translators: whether one is significantly better, by how much, and where they differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import UserError
from regard.evaluation.scores import METRICS, Scorer, Scores, SentenceStatistics
from regard.evaluation.significance import KINDS, SignificanceTest, paired_test
from regard.progress import Progress, Work

SIGNIFICANCE_LEVEL = 0.05  # a difference is significant if the p-values of both tests are below this

MAX_SENTENCES = 20_000  # beyond this an error is raised, because the significance tests need about 0.1 MB per sentence


@dataclass(frozen=True)
class MetricComparison:
    """The scores of two translators by one metric, and the significance tests of the difference."""

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
        """Whether the first translator is significantly better; None if there is no significant difference."""
        if max(self.bootstrap.p, self.randomisation.p) >= SIGNIFICANCE_LEVEL:
            return None
        return self.difference < 0 if self.metric == "ter" else self.difference > 0


@dataclass(frozen=True)
class Difference:
    """A sentence with two different translations, and the chrF of each."""

    sentence: int  # number of the sentence, counted from 1
    source: str
    references: tuple[str, ...]
    translation: str
    against: str
    chrf: float
    against_chrf: float


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison of two translators."""

    scores: Scores  # the scores of the second translator
    metrics: tuple[MetricComparison, ...]
    alike: int  # number of sentences with the same translation
    differences: tuple[Difference, ...]  # all other sentences, the largest difference in chrF first

    def verdict(self, name: str, other: str) -> str:
        """Return a sentence that says which translator is better, and by which metrics."""
        if not self.differences:
            return f"{name} and {other} give the same translation for every sentence: there is no difference."
        names = {
            better: _join([METRICS[metric.metric] for metric in self.metrics if metric.better is better])
            for better in (True, False, None)
        }
        statements = [
            f"{name} is {word} than {other} by {names[better]}"
            for better, word in ((True, "better"), (False, "worse"))
            if names[better]
        ]
        if not statements:
            return f"No significant difference between {name} and {other}."
        if names[None]:
            statements.append(f"by {names[None]} there is no significant difference")
        return "; ".join(statements) + "."


def check_sentence_count(sentences: int) -> None:
    """Raise an error if the significance tests would need too much memory."""
    if sentences > MAX_SENTENCES:
        raise UserError(
            f"{sentences:,} sentences are too many for a comparison of two models: the significance tests need about "
            f"0.1 MB of memory for each; give at most {MAX_SENTENCES:,}"
        )


def compare(
    scorer: Scorer,
    texts: Sequence[tuple[str, tuple[str, ...]]],
    ours: tuple[Sequence[str], Sequence[SentenceStatistics]],
    theirs: tuple[Sequence[str], Sequence[SentenceStatistics]],
) -> Work[Comparison]:
    """Compare two translators by their translations and statistics; `texts` are the sources with their references."""
    (translations, statistics), (other_translations, other_statistics) = ours, theirs
    scores, other_scores = scorer.metric_scores(statistics), scorer.metric_scores(other_statistics)
    metrics = []
    for number, name in enumerate(METRICS):
        tests: list[SignificanceTest] = []
        for kind in KINDS:
            yield Progress("comparing", 2 * number + len(tests), 2 * len(METRICS))
            tests.append(paired_test(scorer, name, statistics, other_statistics, kind))
        metrics.append(MetricComparison(name, scores[name], other_scores[name], *tests))
    differences = [
        Difference(
            number + 1,
            *text,
            translation,
            other,
            scorer.metric_scores([statistics[number]])["chrf"],
            scorer.metric_scores([other_statistics[number]])["chrf"],
        )
        for number, (text, translation, other) in enumerate(zip(texts, translations, other_translations, strict=True))
        if translation != other
    ]
    differences.sort(key=lambda difference: -abs(difference.chrf - difference.against_chrf))
    alike = len(texts) - len(differences)
    return Comparison(scorer.scores(other_statistics), tuple(metrics), alike, tuple(differences))


def _join(names: Sequence[str]) -> str:
    """Return names as `a`, `a and b`, or `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)

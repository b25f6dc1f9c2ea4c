"""Whether two translators differ by more than chance: sacrebleu's paired tests, on counts already taken.

Bootstrap resampling asks how the difference would vary with other sentences; approximate randomisation asks how often
it would come about if who wrote what were left to a coin. Both are seeded, by sacrebleu's 12345 or $SACREBLEU_SEED.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

from sacrebleu.significance import PairedTest

from regard.evaluation.scores import Scorer, SegmentStatistics

Kind = Literal["bs", "ar"]
KINDS: tuple[Kind, ...] = ("bs", "ar")  # bootstrap, randomisation


@dataclass(frozen=True)
class SignificanceTest:
    """How often chance alone would do it (p), and the test's signature."""

    p: float
    signature: str


def paired_test(
    judge: Scorer, name: str, ours: Sequence[SegmentStatistics], theirs: Sequence[SegmentStatistics], kind: Kind
) -> SignificanceTest:
    """One test of one metric."""
    metric: Any = copy(judge.metrics[name])
    metric._extract_corpus_statistics = lambda counts, references: counts
    systems: Any = [("theirs", [each[name] for each in theirs]), ("ours", [each[name] for each in ours])]
    signatures, results = PairedTest(systems, {name: metric}, None, test_type=kind)()
    key = next(iter(signatures))
    before, after = (result for result in results[key] if not isinstance(result, str))
    # The tests count larger differences only, and call the lack of any significant.
    p = 1.0 if before.score == after.score or after.p_value is None else after.p_value
    return SignificanceTest(float(p), str(signatures[key]))

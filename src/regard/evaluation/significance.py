"""Paired significance tests of two translators, by sacrebleu, from statistics that are already computed.

Bootstrap resampling estimates how the difference between the scores varies with the choice of sentences. Approximate
randomisation estimates how often such a difference arises if the two translations of a sentence are exchanged at
random. Both tests use sacrebleu's seed, 12345 or $SACREBLEU_SEED.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

from sacrebleu.significance import PairedTest

from regard.evaluation.scores import Scorer, SentenceStatistics

Kind = Literal["bs", "ar"]
KINDS: tuple[Kind, ...] = ("bs", "ar")  # bootstrap resampling, approximate randomisation


@dataclass(frozen=True)
class SignificanceTest:
    """The p-value of a significance test, and the sacrebleu signature of the test."""

    p: float
    signature: str


def paired_test(
    scorer: Scorer, name: str, ours: Sequence[SentenceStatistics], theirs: Sequence[SentenceStatistics], kind: Kind
) -> SignificanceTest:
    """Test whether two translators differ significantly by one metric."""
    metric: Any = copy(scorer.metrics[name])
    metric._extract_corpus_statistics = lambda statistics, references: statistics
    systems: Any = [
        ("theirs", [sentence[name] for sentence in theirs]),
        ("ours", [sentence[name] for sentence in ours]),
    ]
    signatures, results = PairedTest(systems, {name: metric}, None, test_type=kind)()
    key = next(iter(signatures))
    baseline, system = (result for result in results[key] if not isinstance(result, str))
    # The tests count how often a random difference is larger than the measured one. Two identical systems never have a
    # larger difference, so p would be close to 0 and their difference would seem significant.
    p = 1.0 if baseline.score == system.score or system.p_value is None else system.p_value
    if kind == "ar":
        # Of all exchanges of the sentences that differ, that of none and that of all give the measured difference.
        differing = sum(one[name] != other[name] for one, other in zip(ours, theirs, strict=True))
        p = max(p, min(1.0, 2.0 ** (1 - differing)))
    return SignificanceTest(float(p), str(signatures[key]))

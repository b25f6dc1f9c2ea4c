"""How close translations come to references: BLEU, chrF and TER, by sacrebleu, with their signatures.

All three are computed from counts that sentences add up: matching n-grams, lengths, edits. They are taken once, because
TER's are slow, and then give the figures of the whole test set, of any part of it, and of its resamples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.errors import UserError

METRICS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
SegmentStatistics = dict[str, list[float]]  # what one sentence adds to each metric
Figures = dict[str, float]


@dataclass(frozen=True)
class Scores:
    """The figures, and what one must know to compare them with others'.

    BLEU and chrF go from 0 to 100. TER counts edits per hundred words: fewer are better, and it may exceed 100.
    """

    bleu: float
    chrf: float
    ter: float
    bleu_signature: str
    chrf_signature: str
    ter_signature: str
    sentences: int
    references: int  # of the sentence that has most


class Scorer:
    """Scores translations of the same sentences, each against its own references, be they one or several.

    `tokenize` is how BLEU cuts text into words: "13a" is the standard, "none" is for text that is already cut.
    """

    def __init__(
        self, references: Sequence[Sequence[str]], *, tokenize: str = "13a", names: Sequence[str] = tuple(METRICS)
    ) -> None:
        _check(references)
        self.sentences = len(references)
        self.references = max(len(each) for each in references)
        # sacrebleu wants the first, second, … references of all sentences, and None where a sentence has fewer.
        streams = [[each[rank] if rank < len(each) else None for each in references] for rank in range(self.references)]
        self.metrics = {name: _metric(name, tokenize, streams) for name in names}

    def count(self, translations: Sequence[str]) -> Iterator[SegmentStatistics]:
        """What each translation adds, one by one: whoever waits may show how far it is."""
        if len(translations) != self.sentences:
            raise UserError(
                f"{len(translations)} translations but references for {self.sentences} sentences; "
                "give each translation its own references, in the same order"
            )
        return (self._count(number, text) for number, text in enumerate(translations))

    def _count(self, number: int, text: str) -> SegmentStatistics:
        return {
            name: metric._compute_segment_statistics(metric._preprocess_segment(text), metric._ref_cache[number])  # type: ignore[index]
            for name, metric in self.metrics.items()
        }

    def figures(self, counts: Sequence[SegmentStatistics]) -> Figures:
        """Each metric over sentences that were counted: all, some, or one."""
        return {
            name: metric._aggregate_and_compute([each[name] for each in counts]).score
            for name, metric in self.metrics.items()
        }

    def scores(self, counts: Sequence[SegmentStatistics]) -> Scores:
        """All there is to say of the whole."""
        facts: dict[str, Any] = {f"{name}_signature": str(self.metrics[name].get_signature()) for name in METRICS}
        facts.update(self.figures(counts))
        return Scores(**facts, sentences=self.sentences, references=self.references)


def _metric(name: str, tokenize: str, streams: Any) -> Metric:
    match name:
        case "bleu":
            return _bleu(tokenize, streams)
        case "chrf":
            return CHRF(references=streams)
        case _:
            return TER(references=streams)


def _bleu(tokenize: str, streams: Any) -> BLEU:
    if tokenize not in BLEU.TOKENIZERS:
        known = ", ".join(sorted(BLEU.TOKENIZERS))
        raise UserError(f"unknown tokenisation {tokenize!r} for BLEU; choose one of {known}")
    try:
        return BLEU(tokenize=tokenize, references=streams)
    except (RuntimeError, OSError) as error:  # some need another package, some a download
        reason = " ".join(str(error).split())
        raise UserError(f"sacrebleu cannot tokenise by {tokenize!r} here: {reason}") from error


def _check(references: Sequence[Sequence[str]]) -> None:
    if not references:
        raise UserError("there is nothing to score: no references were given")
    for number, each in enumerate(references, start=1):
        if isinstance(each, str):
            raise UserError(f"sentence {number}: its references must be a list of texts, even if there is only one")
        if not each:
            raise UserError(f"sentence {number} has no reference; give it one, or leave the sentence out")

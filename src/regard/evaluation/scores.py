"""BLEU, chrF and TER by sacrebleu, with their signatures.

All three are computed from statistics that are summed over sentences: matching n-grams, lengths, edits. The statistics
of each sentence are computed only once, because those of TER are slow. They are then used for the scores of the test
set, of its subsets, and of random samples from it.
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
SentenceStatistics = dict[str, list[float]]  # metric -> statistics of one sentence
MetricScores = dict[str, float]


@dataclass(frozen=True)
class Scores:
    """The scores of a test set, with the signatures that make them comparable.

    BLEU and chrF range from 0 to 100. TER is the number of edits per hundred words: lower is better, and it may exceed
    100.
    """

    bleu: float
    chrf: float
    ter: float
    bleu_signature: str
    chrf_signature: str
    ter_signature: str
    sentences: int
    references: int  # the largest number of references of a sentence


class Scorer:
    """A scorer of translations of one test set, in which each sentence has one or more references.

    `tokenize` is the tokenizer of BLEU: "13a" is the standard, "none" is for text that is already tokenized.
    """

    def __init__(
        self, references: Sequence[Sequence[str]], *, tokenize: str = "13a", names: Sequence[str] = tuple(METRICS)
    ) -> None:
        _check(references)
        self.sentences = len(references)
        self.references = max(len(each) for each in references)
        # sacrebleu needs a list of the first references of all sentences, a list of the second references, and so on.
        # If a sentence has fewer references, None takes their place.
        streams = [[each[rank] if rank < len(each) else None for each in references] for rank in range(self.references)]
        self.metrics = {name: _metric(name, tokenize, streams) for name in names}

    def statistics(self, translations: Sequence[str]) -> Iterator[SentenceStatistics]:
        """Yield the statistics of each translation, one at a time, so that the caller can show progress."""
        if len(translations) != self.sentences:
            raise UserError(
                f"{len(translations)} translations but references for {self.sentences} sentences; "
                "give each translation its own references, in the same order"
            )
        return (self._sentence_statistics(number, text) for number, text in enumerate(translations))

    def _sentence_statistics(self, number: int, text: str) -> SentenceStatistics:
        return {
            name: metric._compute_segment_statistics(metric._preprocess_segment(text), metric._ref_cache[number])  # type: ignore[index]
            for name, metric in self.metrics.items()
        }

    def metric_scores(self, statistics: Sequence[SentenceStatistics]) -> MetricScores:
        """Return the score of each metric over the given sentences, which may be the whole test set or a part of it."""
        return {
            name: metric._aggregate_and_compute([sentence[name] for sentence in statistics]).score
            for name, metric in self.metrics.items()
        }

    def scores(self, statistics: Sequence[SentenceStatistics]) -> Scores:
        """Return the scores and signatures of the complete test set."""
        values: dict[str, Any] = {f"{name}_signature": str(self.metrics[name].get_signature()) for name in METRICS}
        values.update(self.metric_scores(statistics))
        return Scores(**values, sentences=self.sentences, references=self.references)


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
        raise UserError(f"unknown tokenizer {tokenize!r} for BLEU; choose one of {known}")
    try:
        return BLEU(tokenize=tokenize, references=streams)
    except (RuntimeError, OSError) as error:  # some tokenizers need another package, some a download
        reason = " ".join(str(error).split())
        raise UserError(f"the BLEU tokenizer {tokenize!r} cannot be used: {reason}") from error


def _check(references: Sequence[Sequence[str]]) -> None:
    if not references:
        raise UserError("there is nothing to score: no references were given")
    for number, each in enumerate(references, start=1):
        if isinstance(each, str):
            raise UserError(f"sentence {number}: its references must be a list of texts, even if there is only one")
        if not each:
            raise UserError(f"sentence {number} has no reference; give it one, or leave the sentence out")

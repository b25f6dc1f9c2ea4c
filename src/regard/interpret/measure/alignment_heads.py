"""Word alignment from cross-attention: choose the head that aligns words best, and align files with it.

At each decoder position, some heads attend to the translation of the input token, others to the translation of the
token that is predicted next. Every head is therefore tried both ways. The head is chosen on one half of the sentences,
and its alignment error is measured on the other half, beside `alignment_baselines`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.data.formats.corpus import corpora
from regard.data.formats.pairs import Pairs
from regard.errors import LookError
from regard.evaluation.alignment_error import alignment_error
from regard.inference.alignment import Link, align_words
from regard.interpret.address import locate_head
from regard.interpret.annotated_pairs import AnnotatedPair, PairSample, whitespace_pair
from regard.interpret.measure.alignment_baselines import RULES, Alignments, align_by_baselines, judged, one_link_each
from regard.interpret.measure.head_roles import MIN_CASES
from regard.interpret.measure.role_criteria import gold_alignment
from regard.interpret.teacher_forcing import attention_weights
from regard.interpret.trace import Array
from regard.model_folder.folder import AlignmentHead
from regard.models.build import build_untrained
from regard.progress import Progress, Work, run_to_end
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

# The decoder positions that align a target word: those that predict it ("written"), or those with it as input ("read").
ROWS = ("written", "read")

_WINDOW = 1000  # number of sentence pairs that are read from the files and aligned at a time


@dataclass(frozen=True)
class AlignmentHeadResult:
    """The head that aligns words best, and the alignment errors of this head and of baselines (0 is perfect)."""

    chosen: AlignmentHead
    error: Estimate  # the error of the chosen head on the held-out half of the sentences
    baselines: dict[str, Estimate]  # the errors of the baselines on the same sentences, by name
    floor: float  # the smallest possible error with one link for each target word
    identical_words_only: bool  # whether only words that are the same on both sides are compared, without annotations
    sentences: int
    # By head and row (one of `ROWS`): the error on the first half of the sentences, which serves to choose the head.
    selection_errors: dict[str, float]

    @property
    def usable(self) -> bool:
        """Whether the error of the head is significantly smaller than that of the best rule without words."""
        return self.error.high < min(self.baselines[name].value for name in RULES)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return asdict(self)


def choose_head(model: "AutoregressiveModel", sample: PairSample) -> Work[AlignmentHeadResult]:
    """Return the cross-attention head with the smallest alignment error on sentences whose alignment is known."""
    anatomy = model.anatomy()
    if not anatomy.cross_heads:
        instead = "" if anatomy.attentions else f"; {anatomy.instead_of_attention}"
        raise LookError(f"this model has no attention from target to source, which an alignment needs{instead}")
    gold = [gold_alignment(pair) for pair in sample.pairs]
    if sum(map(len, gold)) < MIN_CASES:
        raise LookError(
            f"{sample.name}: fewer than {MIN_CASES} words occur once on both sides, too few to choose a head; "
            "leave out the files to choose it on the synthetic language"
        )
    aligned = yield from _align_by_all_heads(model, sample, "aligning")
    untrained = yield from _align_by_all_heads(build_untrained(model), sample, "aligning with an untrained model")
    selection, test = slice(0, None, 2), slice(1, None, 2)
    errors = {key: alignment_error(links[selection], gold[selection]) for key, links in aligned.items()}
    best = min(errors, key=lambda key: errors[key])
    baselines = {name: links[test] for name, links in align_by_baselines(sample).items()}
    baselines["best head of an untrained model"] = min(
        (links[test] for links in untrained.values()), key=lambda links: alignment_error(links, gold[test])
    )
    return AlignmentHeadResult(
        AlignmentHead(*best),
        error_estimate(aligned[best][test], gold[test]),
        {name: error_estimate(links, gold[test]) for name, links in baselines.items()},
        alignment_error([one_link_each(links) for links in gold[test]], gold[test]),
        any(pair.annotations is None for pair in sample.pairs),
        len(sample),
        {f"{head}, {row}": error for (head, row), error in errors.items()},
    )


def align(model: "AutoregressiveModel", pairs: Sequence[AnnotatedPair], head: AlignmentHead) -> Work[Alignments]:
    """Align the words of each pair with the attention weights of one head."""
    alignments: Alignments = [()] * len(pairs)
    attention, index = locate_head(head.head)
    for done, (number, weights) in enumerate(attention_weights(model, pairs), start=1):
        alignments[number] = tuple(_links(weights[attention][index], pairs[number], head.row))
        yield Progress("aligning", done, len(pairs))
    return alignments


def align_files(
    model: "AutoregressiveModel", tokenizer: SentencePieceTokenizer, paths: Sequence[Path], head: AlignmentHead
) -> Iterator[tuple[AnnotatedPair, tuple[Link, ...]]]:
    """Yield each sentence pair of the files with its alignment, which is empty if the pair is blank or too long.

    Words are separated by white space.
    """
    texts = (pair for corpus in corpora(paths) for pair in Pairs(corpus).or_raise())
    while window := list(islice(texts, _WINDOW)):
        pairs = [whitespace_pair(pair.source, pair.target, tokenizer) for pair in window]
        usable = [pair for pair in pairs if _is_usable(pair, model.settings.max_positions)]
        alignments = iter(run_to_end(align(model, usable, head)))
        for pair in pairs:
            yield pair, next(alignments) if _is_usable(pair, model.settings.max_positions) else ()


def _is_usable(pair: AnnotatedPair, max_positions: int) -> bool:
    return max(len(pair.source_ids), len(pair.target_ids)) <= max_positions and bool(pair.source_words)


def _links(weights_LM: Array, pair: AnnotatedPair, row: str) -> Iterator[Link]:
    return align_words(weights_LM, pair.source_words, pair.target_words, row)


def _align_by_all_heads(
    model: "AutoregressiveModel", sample: PairSample, stage: str
) -> Work[dict[tuple[str, str], Alignments]]:
    heads = model.anatomy().cross_heads
    alignments: dict[tuple[str, str], Alignments] = {(head, row): [()] * len(sample) for head in heads for row in ROWS}
    for done, (number, weights) in enumerate(attention_weights(model, sample.pairs), start=1):
        pair = sample.pairs[number]
        for (head, row), each in alignments.items():
            attention, index = locate_head(head)
            each[number] = judged(_links(weights[attention][index], pair, row), pair)
        yield Progress(stage, done, len(sample))
    return alignments


def error_estimate(alignments: Alignments, gold: Sequence[Sequence[Link]]) -> Estimate:
    """Return the alignment error with a confidence interval. Its count is the number of sentences.

    Without possible links, the error is the proportion of missing links and of wrong links among all links of both
    alignments.
    """
    wrong, total = [], []
    for links, sure in zip(alignments, gold, strict=True):
        total.append(len(set(links)) + len(set(sure)))
        wrong.append(total[-1] - 2 * len(set(links) & set(sure)))
    error = proportion(wrong, total)
    assert error is not None
    return replace(error, count=len(alignments))

"""Which source word each target word comes from, by the cross head that tells it best.

Heads align either the word a row has just read or the one it is about to write; both are tried for every head. The head
is chosen on one half of the sentences, and its error is that of the other half.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regard.data.formats.corpus import corpora
from regard.data.formats.pairs import Pairs
from regard.errors import LookError
from regard.evaluation.alignment_error import alignment_error
from regard.inference.alignment import Link, align_words
from regard.interpret.annotated_pairs import SEED, AnnotatedPair, PairSample, spaced_item
from regard.interpret.measure.head_roles import FEW
from regard.interpret.measure.role_criteria import OFFSETS, truth_links
from regard.interpret.teacher_forcing import attention_weights
from regard.interpret.trace import Array
from regard.model_folder.folder import AlignmentHead
from regard.models.build import build_untrained
from regard.progress import Progress, Work, run_to_end
from regard.statistics.intervals import Estimate
from regard.statistics.multiplicity import z_score
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

ROWS = ("written", "read")

_RESAMPLES = 500

_WINDOW = 1000  # pairs of a file aligned at once

Links = list[tuple[Link, ...]]  # of each sentence


@dataclass(frozen=True)
class AlignmentHeadResult:
    """The head that aligns best, its error and others', from 0 (all right) to 1."""

    chosen: AlignmentHead
    error: Estimate  # on the half it was not chosen on
    offset: float  # of the best rule that looks so many words ahead
    untrained: float  # of the best head of the same architecture that learnt nothing
    sentences: int
    each: dict[str, float]  # of every head and row, on the half it was chosen on

    @property
    def usable(self) -> bool:
        """Whether the head knows more than a rule that always looks so many words ahead."""
        return self.error.high < self.offset


def choose_head(model: "Transformer", sample: PairSample) -> Work[AlignmentHeadResult]:
    """Try every cross head on sentences whose alignment is known."""
    sure = [truth_links(item) for item in sample.pairs]
    if sum(map(len, sure)) < FEW:
        raise LookError(
            f"{sample.name}: fewer than {FEW} words stand once on both sides, too few to choose a head by; "
            "leave the files out to choose by the built-in language"
        )
    found = yield from _every(model, sample, "aligning")
    blank = yield from _every(build_untrained(model), sample, "aligning untrained")
    chosen_on, told_of = slice(0, None, 2), slice(1, None, 2)
    each = {key: alignment_error(links[chosen_on], sure[chosen_on]) for key, links in found.items()}
    best = min(each, key=lambda key: each[key])
    error = _error(found[best][told_of], sure[told_of])
    return AlignmentHeadResult(
        AlignmentHead(*best),
        error,
        min(alignment_error(links[told_of], sure[told_of]) for links in _offsets(sample.pairs)),
        min(alignment_error(links[told_of], sure[told_of]) for links in blank.values()),
        len(sample),
        {f"{head}, {row}": value for (head, row), value in each.items()},
    )


def aligned(model: "Transformer", items: Sequence[AnnotatedPair], head: AlignmentHead) -> Work[Links]:
    """The links of each item, by that head."""
    found: Links = [()] * len(items)
    attention, _, number = head.head.rpartition(".")
    for done, (at, weights) in enumerate(attention_weights(model, items), start=1):
        found[at] = tuple(_links(weights[attention][int(number) - 1], items[at], head.row))
        yield Progress("aligning", done, len(items))
    return found


def align_files(
    model: "Transformer", tokenizer: SentencePieceTokenizer, paths: Sequence[Path], head: AlignmentHead
) -> Iterator[tuple[AnnotatedPair, tuple[Link, ...]]]:
    """Each pair of the files with its links, words divided by white space; none where the model cannot read it."""
    pairs = (pair for corpus in corpora(paths) for pair in Pairs(corpus).or_raise())
    longest = model.settings.max_positions
    while window := list(islice(pairs, _WINDOW)):
        items = [spaced_item(pair.source, pair.target, tokenizer) for pair in window]
        fits = [
            max(len(item.source_ids), len(item.written_ids)) <= longest and bool(item.source_words) for item in items
        ]
        found = iter(run_to_end(aligned(model, [item for item, fit in zip(items, fits, strict=True) if fit], head)))
        for item, fit in zip(items, fits, strict=True):
            yield item, next(found) if fit else ()


def _links(weights_LM: Array, item: AnnotatedPair, row: str) -> Iterator[Link]:
    return align_words(weights_LM, item.source_words, item.target_words, row)


def _every(model: "Transformer", sample: PairSample, stage: str) -> Work[dict[tuple[str, str], Links]]:
    heads = [
        f"decoder.{layer}.cross.{head}"
        for layer in range(1, model.settings.decoder_layers + 1)
        for head in range(1, model.settings.heads + 1)
    ]
    found: dict[tuple[str, str], Links] = {(head, row): [()] * len(sample) for head in heads for row in ROWS}
    for done, (at, weights) in enumerate(attention_weights(model, sample.pairs), start=1):
        for (head, row), links in found.items():
            attention, _, number = head.rpartition(".")
            links[at] = tuple(_known(_links(weights[attention][int(number) - 1], sample.pairs[at], row), sample, at))
        yield Progress(stage, done, len(sample))
    return found


def _known(links: Iterator[Link], sample: PairSample, at: int) -> Iterator[Link]:
    """Without the truth, only words that stand on both sides can be judged."""
    item = sample.pairs[at]
    judged = None if item.annotations else {target for _, target in truth_links(item)}
    return (link for link in links if judged is None or link[1] in judged)


def _offsets(items: Sequence[AnnotatedPair]) -> Iterator[Links]:
    for offset in OFFSETS:
        links = []
        for item in items:
            targets = range(len(item.target_words)) if item.annotations else [target for _, target in truth_links(item)]
            last = len(item.source_words) - 1
            links.append(tuple((min(max(target + offset, 0), last), target) for target in targets))
        yield links


def _error(found: Links, sure: Sequence[Sequence[Link]]) -> Estimate:
    """The error, and how it varies in samples drawn from the sentences."""
    value = alignment_error(found, sure)
    chance = np.random.default_rng(SEED)
    drawn = chance.integers(len(found), size=(_RESAMPLES, len(found)))
    spread = np.std([alignment_error([found[at] for at in one], [sure[at] for at in one]) for one in drawn])
    reach = z_score(1) * float(spread)
    return Estimate(value, max(0.0, value - reach), min(1.0, value + reach), len(found))

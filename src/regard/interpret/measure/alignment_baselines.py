"""Baselines of word alignment: rules that know only positions, and a statistical model that knows only words."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from regard.data.synthetic import generator
from regard.evaluation.alignment_error import alignment_error
from regard.evaluation.ibm_model_1 import IbmModel1
from regard.inference.alignment import Link
from regard.interpret.annotated_pairs import SEED, AnnotatedPair, PairSample
from regard.interpret.measure.role_criteria import OFFSETS, diagonal, gold_alignment

RULES = ("best fixed offset", "diagonal")

IBM_MODEL_1 = "IBM model 1"

TRAINING_PAIRS = 3000  # further pairs of the synthetic language for IBM model 1; with other pairs it has only these

Alignments = list[tuple[Link, ...]]  # one alignment per sentence pair


def align_by_baselines(sample: PairSample) -> dict[str, Alignments]:
    """Return the alignments by each baseline. The best offset is chosen on all sentences, in its favour."""
    gold = [gold_alignment(pair) for pair in sample.pairs]
    offsets = [_align(sample.pairs, partial(_shifted, offset)) for offset in OFFSETS]
    model = IbmModel1([*map(words_of, sample.pairs), *training_words(sample)])
    return {
        RULES[0]: min(offsets, key=lambda links: alignment_error(links, gold)),
        RULES[1]: _align(sample.pairs, diagonal),
        IBM_MODEL_1: [judged(model.align(*words_of(pair)), pair) for pair in sample.pairs],
    }


def judged(links: Iterable[Link], pair: AnnotatedPair) -> tuple[Link, ...]:
    """Keep the links that can be compared with a known alignment.

    If the pair has annotations, keep all links. Otherwise, keep only the links of target words that occur unchanged in
    the source.
    """
    if pair.annotations is not None:
        return tuple(links)
    targets = {target for _, target in gold_alignment(pair)}
    return tuple(link for link in links if link[1] in targets)


def one_link_each(gold: Sequence[Link]) -> tuple[Link, ...]:
    """Return the best alignment that has at most one link for each target word."""
    return tuple({target: (source, target) for source, target in gold}.values())


def _align(pairs: Sequence[AnnotatedPair], rule: Callable[[int, int, int], int]) -> Alignments:
    """Align each target word by a rule that gets its index and the numbers of target and source words."""
    alignments = []
    for pair in pairs:
        rows, columns = len(pair.target_words), len(pair.source_words)
        alignments.append(judged(((rule(row, rows, columns), row) for row in range(rows)), pair))
    return alignments


def _shifted(offset: int, row: int, rows: int, columns: int) -> int:
    return min(max(row + offset, 0), columns - 1)


def words_of(pair: AnnotatedPair) -> tuple[list[str], list[str]]:
    return [word.text.casefold() for word in pair.source_words], [word.text.casefold() for word in pair.target_words]


def training_words(sample: PairSample) -> list[tuple[list[str], list[str]]]:
    """Return the words of further pairs of the synthetic language, if the sample is from it."""
    if not any(pair.annotations for pair in sample.pairs):
        return []
    words = []
    for pair in islice(generator.pairs(SEED, "train"), TRAINING_PAIRS):
        sides = (pair.annotations.source, pair.annotations.target)
        source, target = ([word.text.casefold() for word in side] for side in sides)
        words.append((target, source) if sample.is_reversed else (source, target))
    return words

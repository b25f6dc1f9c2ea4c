"""Antecedent heads: heads that attend more to the noun that "it" refers to, whatever the cue.

The two sentences of a minimal pair differ in one word, the cue. If a head prefers the same noun in both sentences, it
does not react to the cue. If its preference changes, it prefers either the antecedent in both sentences (right) or the
distractor in both (reversed). A head that reacts to the cue without knowing what it means is right as often as
reversed. A paired sign test compares the two, with the relation between the nouns (the frame) as the cluster, because a
head may go the same way in all pairs of a frame. It is corrected for all questions: every head and every word whose
attention is measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.interpret.address import locate_head
from regard.interpret.annotated_pairs import SEED
from regard.interpret.measure.pronoun_task import QUERIES, MinimalPair, noun_columns, query_rows
from regard.interpret.teacher_forcing import attention_weights
from regard.interpret.trace import Array
from regard.progress import Progress, Work
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion
from regard.statistics.multiplicity import SIGNIFICANCE_LEVEL
from regard.statistics.paired_tests import paired_sign_test

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

MAX_HEADS = 4  # the maximum number of heads that are ablated or forced together; those with the smallest p are chosen

QueryHead = tuple[str, str]  # a key of QUERIES and the address of a head


@dataclass(frozen=True)
class AntecedentHead:
    """How a head attends from a query to the antecedent and the distractor.

    `right` and `p` are from the pairs that served to find the head, and are corrected for the number of questions.
    `held_out` and what follows are from the other pairs.
    """

    query: str
    head: str
    p: float
    right: Estimate | None  # of the pairs in which the preference changes: the proportion with the right direction
    held_out: Estimate | None  # the same in the other pairs
    pair_accuracy: Estimate  # the proportion of pairs in which the head prefers the antecedent in both sentences
    reversed: Estimate  # the proportion of pairs in which the head prefers the distractor in both sentences
    antecedent_weight: float  # the mean attention weight on the antecedent
    distractor_weight: float  # the mean attention weight on the distractor

    @property
    def is_significant(self) -> bool:
        return self.p <= SIGNIFICANCE_LEVEL


def noun_weights(
    model: "AutoregressiveModel", minimal_pairs: Sequence[MinimalPair], stage: str
) -> Work[dict[QueryHead, Array]]:
    """Return, for each query and head, the attention weights on the two nouns, with the shape (pairs, 2, 2).

    The second axis is the sentence of the pair; the third is the noun, first the antecedent and then the distractor.
    """
    contrasts = [sentence for both in minimal_pairs for sentence in both]
    sentences = [each.correct for each in contrasts]
    tables = {
        (query, head): np.zeros((len(sentences), 2))
        for attention in model.anatomy().attentions
        for query, sides in QUERIES.items()
        for head in attention.head_addresses
        if sides == (attention.queries, attention.keys)
    }
    for done, (number, weights) in enumerate(attention_weights(model, sentences), start=1):
        nouns, rows = noun_columns(sentences[number]), query_rows(contrasts[number], sentences[number])
        for (query, address), table in tables.items():
            attention, head = locate_head(address)
            row_M = weights[attention][head, rows[query].start : rows[query].stop].mean(axis=0)
            table[number] = [row_M[noun.start : noun.stop].sum() for noun in nouns]
        yield Progress(stage, done, len(sentences))
    return {query_head: table.reshape(len(minimal_pairs), 2, 2) for query_head, table in tables.items()}


def directions(weights: Array) -> Array:
    """Return +1 for each pair in which the preference changes in the right direction, -1 if it is reversed, or else 0.

    `weights` are those of one head, with the shape of `noun_weights`.
    """
    antecedent, distractor = weights[:, :, 0], weights[:, :, 1]
    right, reversed_ = (antecedent > distractor).all(axis=1), (antecedent < distractor).all(axis=1)
    return right.astype(int) - reversed_.astype(int)


def p_values(weights: dict[QueryHead, Array], frames: Sequence[str]) -> dict[QueryHead, float]:
    """Return the p-value of each query and head, corrected for the number of all of them."""
    signs = [directions(table) for table in weights.values()]
    return dict(zip(weights, paired_sign_test(signs, frames, seed=SEED).tolist(), strict=True))


def rank(p: dict[QueryHead, float]) -> list[QueryHead]:
    """Return each head once, with the query that has the smallest p-value; the head with the smallest comes first."""
    best: dict[str, QueryHead] = {}
    for query_head in sorted(p, key=lambda each: p[each]):
        best.setdefault(query_head[1], query_head)
    return list(best.values())


def describe_head(
    query_head: QueryHead,
    p: dict[QueryHead, float],
    found_on: tuple[Array, Sequence[str]],
    held_out: tuple[Array, Sequence[str]],
) -> AntecedentHead:
    """Describe a head by its weights, and the frames of the pairs, on both halves of the pairs."""
    weights, frames = held_out
    signs = directions(weights)
    pair_accuracy, reversed_ = (proportion(signs == sign, np.ones(len(signs)), clusters=frames) for sign in (1, -1))
    assert pair_accuracy is not None and reversed_ is not None
    return AntecedentHead(
        *query_head,
        p[query_head],
        right_direction(directions(found_on[0]), found_on[1], tests=len(p)),
        right_direction(signs, frames),
        pair_accuracy,
        reversed_,
        float(weights[:, :, 0].mean()),
        float(weights[:, :, 1].mean()),
    )


def right_direction(signs: Array, frames: Sequence[str], *, tests: int = 1) -> Estimate | None:
    """Return the proportion of changed preferences that go in the right direction; None if no preference changes."""
    return proportion(signs == 1, signs != 0, clusters=frames, tests=tests)

"""The criteria for the roles of heads: which token or word a query must attend to most.

Criteria about tokens (the previous one, the first, the rarest) apply to any text, and EOS counts as a token.
Criteria about words (a verb and its subject, a word and its translation) need annotations. Without annotations, only a
target word that occurs unchanged in the source has a known translation. In criteria about words, the attention to a
word is the sum over its tokens, and the weight on EOS is left out (Voita, 2019). A case is a token or word to which a
criterion applies. A hit is a case in which a head meets the criterion.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.interpret.annotated_pairs import AnnotatedPair
from regard.interpret.trace import Array
from regard.settings.anatomy import Attention, Side
from regard.tokenizers.special_ids import FIRST_SUBWORD
from regard.tokenizers.word_spans import WordSpan, token_to_word_matrix

# The number of first subwords of the vocabulary, which never count as rare. The ids of a unigram vocabulary are ordered
# by decreasing probability. Those of a BPE vocabulary are in the order of the merges, which is only roughly the same.
FREQUENT_SUBWORDS = 500

# Distances in words. Each is a baseline that always attends to the word at this distance.
OFFSETS = range(-12, 13)

ROLE_DESCRIPTIONS = {
    "previous": "the previous token",
    "next": "the next token",
    "self": "the same token; in the decoder, the input token",
    "first": "the first token; in the decoder, BOS",
    "end": "EOS",
    "rare": f"the token that comes last in the vocabulary, if it is not one of the first {FREQUENT_SUBWORDS} subwords",
    "verb → subject": "from a verb to its subject",
    "verb → object": "from a verb to its object",
    "verb → instrument": "from a verb to its instrument",
    "adjective → noun": "from an adjective to its noun",
    "it → antecedent": "from “it” or “they” to its antecedent",
    "align, read": "from the position whose input is a target word to its source word",
    "align, written": "from the position that predicts a target word to its source word",
}

POSITIONAL_ROLES = ("previous", "next", "self", "first", "end")

# The roles that a head can have, by the sides of its queries and of its keys.
_ROLES: dict[tuple[Side, Side], tuple[str, ...]] = {
    ("source", "source"): (*POSITIONAL_ROLES, "rare", *(name for name in ROLE_DESCRIPTIONS if "→" in name)),
    ("target", "target"): ("previous", "self", "first"),
    ("target", "source"): ("first", "end", "align, read", "align, written"),
}


def roles_of(attention: Attention) -> tuple[str, ...]:
    """Return the roles that the heads of an attention can have."""
    return _ROLES.get((attention.queries, attention.keys), ())


@dataclass(frozen=True)
class WordRelation:
    """A word, the query positions of its tokens, and the source words that they should attend to.

    `candidates` are the words among which one is correct, in their order, if the annotations name them.
    """

    word: int
    rows: range
    correct: frozenset[int]
    candidates: tuple[int, ...] = ()


def positional_hits(weights_HLM: Array, attention: Attention) -> Iterator[tuple[str, Array, int, float]]:
    """Yield each positional role with the hits of each head, the number of cases, and the hits expected by chance."""
    top_HL = weights_HLM.argmax(axis=-1)
    heads, rows, columns = weights_HLM.shape
    if attention.queries != attention.keys:
        correct = {"first": dict.fromkeys(range(rows), 0), "end": dict.fromkeys(range(rows), columns - 1)}
    else:
        # The query of EOS is not counted, because EOS is not a word. Query 1 is not counted for "previous" and "first",
        # because its previous token is also the first token.
        last = rows - 1 if attention.queries == "source" else rows
        correct = {
            "previous": {row: row - 1 for row in range(2, last)},
            "next": {row: row + 1 for row in range(last - 1)},
            "self": {row: row for row in range(1, last)},
            "first": dict.fromkeys(range(2, last), 0),
            "end": dict.fromkeys(range(last), columns - 1),
        }
    for role in roles_of(attention):
        if role in correct:
            cases = correct[role]
            hits_H = (top_HL[:, list(cases)] == list(cases.values())).sum(axis=1) if cases else np.zeros(heads)
            yield role, hits_H, len(cases), sum(1 / (row + 1 if attention.causal else columns) for row in cases)


def rare_token_hits(weights_HLM: Array, pair: AnnotatedPair) -> tuple[Array, int, float]:
    """Return the hits of each head on the rarest token, the number of cases, and the hits expected by chance.

    The rarest token is the one with the highest id. Every token except the rarest and EOS is a case. Byte tokens count
    as rarer than any subword.
    """
    ids = np.array(pair.source_ids[:-1])
    rank = np.where(ids < FIRST_SUBWORD, np.iinfo(np.int64).max, ids)
    rarest = rank == rank.max()
    if rank.max() < FIRST_SUBWORD + FREQUENT_SUBWORDS:
        return np.zeros(len(weights_HLM)), 0, 0.0
    top_HL = weights_HLM[:, : len(ids)].argmax(axis=-1)
    hit_HL = np.append(rarest, False)[top_HL] & ~rarest
    cases = int((~rarest).sum())
    return hit_HL.sum(axis=1), cases, cases * int(rarest.sum()) / len(pair.source_ids)


def word_relations(pair: AnnotatedPair) -> dict[str, list[WordRelation]]:
    """Return the word relations for each role. Without annotations, only the alignment roles have any."""
    relations = {} if pair.annotations is None else _syntactic_relations(pair)
    sources: dict[int, set[int]] = {}
    for source, target in gold_alignment(pair):
        sources.setdefault(target, set()).add(source)
    for role, shift in (("align, read", 1), ("align, written", 0)):
        # Decoder position r predicts target token r, and position r + 1 has this token as its input.
        relations[role] = [
            WordRelation(target, range(word.begin + shift, word.end + shift), frozenset(correct))
            for target, correct in sources.items()
            if (word := pair.target_words[target]).begin < word.end
        ]
    return relations


def relation_hits(weights_HLM: Array, columns: Sequence[WordSpan], relations: Iterable[WordRelation]) -> Array:
    """Return, for each relation and head, whether the source word that gets the most attention is correct."""
    to_words_MW = token_to_word_matrix(columns, weights_HLM.shape[-1])
    hits = []
    for relation in relations:
        attention_HW = weights_HLM[:, relation.rows.start : relation.rows.stop].mean(axis=1) @ to_words_MW
        hits.append(np.isin(attention_HW.argmax(axis=-1), [*relation.correct]))
    return np.array(hits).reshape(-1, len(weights_HLM))


def rule_hits(relations: Iterable[WordRelation], pair: AnnotatedPair, attention: Attention) -> Array:
    """Return the hits of rules that use neither attention nor the words.

    They choose the word at each of `OFFSETS`, the first word, the last word, the word on the diagonal, the first
    candidate and the last one. For "it", the candidates are the antecedent and the distractor.
    """
    columns = len(pair.source_words)
    rows = columns if attention.queries == "source" else len(pair.target_words)
    total = np.zeros(len(OFFSETS) + 5)
    for relation in relations:
        guesses = [relation.word + offset for offset in OFFSETS]
        guesses += [0, columns - 1, diagonal(relation.word, rows, columns)]
        guesses += [relation.candidates[0], relation.candidates[-1]] if relation.candidates else [-1, -1]
        total += [guess in relation.correct for guess in guesses]
    return total


def diagonal(row: int, rows: int, columns: int) -> int:
    """Return the column on the diagonal of a table: the word at the same relative position of the other sentence."""
    return min(int((row + 0.5) * columns / rows), columns - 1)


def _syntactic_relations(pair: AnnotatedPair) -> dict[str, list[WordRelation]]:
    annotations = pair.annotations
    assert annotations is not None
    it = annotations.coreference
    edges: dict[str, list[tuple[int, int | None]]] = {
        "verb → subject": [(verb.at, verb.subject) for verb in annotations.verbs],
        "verb → object": [(verb.at, verb.object) for verb in annotations.verbs],
        "verb → instrument": [(verb.at, verb.instrument) for verb in annotations.verbs],
        "adjective → noun": list(annotations.adjectives),
        "it → antecedent": [(it.at, it.antecedent)] if it else [],
    }
    words = pair.source_words
    nouns = [it.antecedent, *([] if it.distractor is None else [it.distractor])] if it else []
    candidates = {"it → antecedent": tuple(sorted(nouns))}
    return {
        role: [
            WordRelation(
                word, range(words[word].begin, words[word].end), frozenset({correct}), candidates.get(role, ())
            )
            for word, correct in edges[role]
            if correct is not None and all(words[index].begin < words[index].end for index in (word, correct))
        ]
        for role in edges
    }


def gold_alignment(pair: AnnotatedPair) -> list[tuple[int, int]]:
    """Return the known alignment links of a pair.

    If the pair has annotations, these are the annotated links. Otherwise, each word that occurs exactly once in the
    source and once in the target is linked to itself.
    """
    words = pair.source_words
    if pair.annotations is None:
        return list(_identical_words(words, pair.target_words))
    return [link for link in pair.annotations.alignment if words[link[0]].begin < words[link[0]].end]


def _identical_words(source: Sequence[WordSpan], target: Sequence[WordSpan]) -> Iterator[tuple[int, int]]:
    """Link each word that contains a letter or digit and occurs exactly once in the source and once in the target."""
    counts = [Counter(word.text.casefold() for word in side) for side in (source, target)]
    indices = {word.text.casefold(): index for index, word in enumerate(source)}
    for index, word in enumerate(target):
        text = word.text.casefold()
        if any(character.isalnum() for character in text) and counts[0][text] == counts[1][text] == 1:
            yield indices[text], index

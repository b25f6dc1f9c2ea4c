"""What heads are asked: where a row looks most, and whether that is the place in question.

Places among pieces (the previous one, the first, the rarest) can be asked of any text, and every piece counts, the end
mark too. Relations between words (a verb and its subject, a word and its translation) need the truth, or words that
stand unchanged on both sides; there a word gets what its pieces get, and the end mark is left out (Voita, 2019).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.interpret.annotated_pairs import AnnotatedPair
from regard.interpret.trace import Array
from regard.tokenizers.special_ids import FIRST_SUBWORD
from regard.tokenizers.word_spans import WordSpan, token_to_word_matrix

COMMON = 500  # pieces; SentencePiece numbers them from the most frequent on

OFFSETS = range(-12, 13)  # of the rule that looks so many words ahead

MEANING = {
    "previous": "the piece before",
    "next": "the piece after",
    "self": "the piece itself; in the decoder, the one just read",
    "first": "the first piece; in the decoder, the start mark",
    "end": "the end mark",
    "rare": f"the rarest piece of the sentence, if it is not among the {COMMON} most frequent",
    "verb → subject": "from a verb to its subject",
    "verb → object": "from a verb to its object",
    "verb → instrument": "from a verb to its instrument",
    "adjective → noun": "from an adjective to its noun",
    "it → noun": "from “it” or “they” to the noun it stands for",
    "align, read": "from a target word to its source word, after reading it",
    "align, written": "from a target word to its source word, about to write it",
}

POSITIONAL = ("previous", "next", "self", "first", "end")

CRITERIA = {
    "encoder.self": (*POSITIONAL, "rare", *(name for name in MEANING if "→" in name)),
    "decoder.self": ("previous", "self", "first"),
    "decoder.cross": ("first", "end", "align, read", "align, written"),
}


@dataclass(frozen=True)
class Cell:
    """Which rows look together, as one word, and at which words they should; `at` is that word's own number."""

    at: int
    rows: range
    right: frozenset[int]


def positional(weights_HLM: Array, kind: str) -> Iterator[tuple[str, Array, int, float]]:
    """Each question about places: how often each head hits, of how many, and how often a look anywhere would."""
    top_HL = weights_HLM.argmax(axis=-1)
    heads, rows, columns = weights_HLM.shape
    if kind == "decoder.cross":
        wanted = {"first": dict.fromkeys(range(rows), 0), "end": dict.fromkeys(range(rows), columns - 1)}
    else:
        # The end mark looks too, but is no word. A row whose previous piece is the first tells these two not apart.
        last = rows - 1 if kind == "encoder.self" else rows
        wanted = {
            "previous": {row: row - 1 for row in range(2, last)},
            "next": {row: row + 1 for row in range(last - 1)},
            "self": {row: row for row in range(1, last)},
            "first": dict.fromkeys(range(2, last), 0),
            "end": dict.fromkeys(range(last), columns - 1),
        }
    for name in CRITERIA[kind]:
        if name in wanted:
            places = wanted[name]
            hits_H = (top_HL[:, list(places)] == list(places.values())).sum(axis=1) if places else np.zeros(heads)
            yield name, hits_H, len(places), sum(1 / (row + 1 if kind == "decoder.self" else columns) for row in places)


def rare(weights_HLM: Array, item: AnnotatedPair) -> tuple[Array, int, float]:
    """How often each head looks at the rarest piece from another; bytes are rarer than any piece."""
    ids = np.array(item.source_ids[:-1])
    rank = np.where(ids < FIRST_SUBWORD, np.iinfo(np.int64).max, ids)
    rarest = rank == rank.max()
    if rank.max() < FIRST_SUBWORD + COMMON:
        return np.zeros(len(weights_HLM)), 0, 0.0
    top_HL = weights_HLM[:, : len(ids)].argmax(axis=-1)
    hit_HL = np.append(rarest, False)[top_HL] & ~rarest
    others = int((~rarest).sum())
    return hit_HL.sum(axis=1), others, others * int(rarest.sum()) / len(item.source_ids)


def relations(item: AnnotatedPair) -> dict[str, list[Cell]]:
    """What the truth, or a word that stands once on both sides, says about the words of a pair."""
    found = {} if item.annotations is None else _syntax(item)
    sources: dict[int, set[int]] = {}
    for source, target in truth_links(item):
        sources.setdefault(target, set()).add(source)
    for name, shift in (("align, read", 1), ("align, written", 0)):
        # Row r writes piece r, and row r + 1 has read it.
        found[name] = [
            Cell(target, range(word.begin + shift, word.end + shift), frozenset(right))
            for target, right in sources.items()
            if (word := item.target_words[target]).begin < word.end
        ]
    return found


def hits(weights_HLM: Array, columns: Sequence[WordSpan], cells: Iterable[Cell]) -> Array:
    """For each cell and head, whether the word looked at most is a right one."""
    to_words_MW = token_to_word_matrix(columns, weights_HLM.shape[-1])
    found = []
    for cell in cells:
        looked_HW = weights_HLM[:, cell.rows.start : cell.rows.stop].mean(axis=1) @ to_words_MW
        found.append(np.isin(looked_HW.argmax(axis=-1), [*cell.right]))
    return np.array(found).reshape(-1, len(weights_HLM))


def offset_hits(cells: Iterable[Cell], words: int) -> Array:
    """For each rule that knows no head, how often it is right: so many words ahead, the first, the last."""
    total = np.zeros(len(OFFSETS) + 2)
    for cell in cells:
        guesses = [*(cell.at + offset for offset in OFFSETS), 0, words - 1]
        total += [guess in cell.right for guess in guesses]
    return total


def _syntax(item: AnnotatedPair) -> dict[str, list[Cell]]:
    truth = item.annotations
    assert truth is not None
    pairs: dict[str, list[tuple[int, int | None]]] = {
        "verb → subject": [(verb.at, verb.subject) for verb in truth.verbs],
        "verb → object": [(verb.at, verb.object) for verb in truth.verbs],
        "verb → instrument": [(verb.at, verb.instrument) for verb in truth.verbs],
        "adjective → noun": list(truth.adjectives),
        "it → noun": [(truth.it.at, truth.it.antecedent)] if truth.it else [],
    }
    words = item.source_words
    return {
        name: [
            Cell(at, range(words[at].begin, words[at].end), frozenset({right}))
            for at, right in found
            if right is not None and all(words[one].begin < words[one].end for one in (at, right))
        ]
        for name, found in pairs.items()
    }


def truth_links(item: AnnotatedPair) -> list[tuple[int, int]]:
    """Words of both sides that belong together: by the truth, else those that stand once on each side."""
    words = item.source_words
    if item.annotations is None:
        return list(_copied(words, item.target_words))
    return [link for link in item.annotations.alignment if words[link[0]].begin < words[link[0]].end]


def _copied(source: Sequence[WordSpan], target: Sequence[WordSpan]) -> Iterator[tuple[int, int]]:
    """Words with a letter or digit that stand once on each side: nobody doubts that these belong together."""
    counts = [Counter(word.text.casefold() for word in side) for side in (source, target)]
    places = {word.text.casefold(): number for number, word in enumerate(source)}
    for number, word in enumerate(target):
        text = word.text.casefold()
        if any(sign.isalnum() for sign in text) and counts[0][text] == counts[1][text] == 1:
            yield places[text], number

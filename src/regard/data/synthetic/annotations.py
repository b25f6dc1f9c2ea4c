"""Annotations of a sentence pair, which are known exactly because a grammar generated the pair.

Positions count words and punctuation marks from 0. They are positions in the English sentence, except in fields whose
name contains "target". `dataclasses.asdict` turns annotations into a dictionary for JSON, in which each word becomes a
list.
"""

from dataclasses import dataclass
from typing import NamedTuple


class WordAnnotation(NamedTuple):
    """A word, the index of its first character in the sentence, and its word class."""

    text: str
    start: int
    kind: str


@dataclass(frozen=True, slots=True)
class VerbAnnotation:
    """A verb: its position, its tense in both languages, and the positions of its subject, object and instrument.

    The object may follow a preposition, such as "mat" in "sat on the mat".
    """

    at: int
    tense: str
    target_tense: str
    negated: bool
    subject: int | None
    object: int | None
    instrument: int | None


@dataclass(frozen=True, slots=True)
class CoreferenceAnnotation:
    """A pronoun ("it", "they" or "them") whose French form depends on its antecedent.

    `at` is the position of the English pronoun, and `target` that of the French one. If the pronoun could refer to
    two nouns, `distractor` is the noun that it does not refer to, and `cue` is the adjective that decides between
    them. `slot` is the role of the antecedent, "subject" or "object", and `frame` names the relation between the two
    nouns. `both_roles` means that both nouns are of the same class, so that each can have either role in the relation.
    `same_gender` means that both nouns have the same gender, so the French pronoun does not reveal the antecedent.
    """

    at: int
    target: int
    antecedent: int
    gender: str
    number: str
    distractor: int | None = None
    cue: int | None = None
    slot: str | None = None
    frame: str | None = None
    both_roles: bool = False
    same_gender: bool = False


@dataclass(frozen=True, slots=True)
class Annotations:
    """All annotations of one sentence pair.

    `kind` names the template of the sentence. `alignment` holds pairs of an English and a French position, and
    `adjectives` holds pairs of the position of an adjective and the position of its noun. `tense` is the tense of the
    main verb.
    """

    kind: str
    source: tuple[WordAnnotation, ...]
    target: tuple[WordAnnotation, ...]
    alignment: tuple[tuple[int, int], ...]
    verbs: tuple[VerbAnnotation, ...]
    adjectives: tuple[tuple[int, int], ...]
    tense: str | None
    sentiment: str | None
    coreference: CoreferenceAnnotation | None

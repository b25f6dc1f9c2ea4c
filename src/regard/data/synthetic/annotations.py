"""What is known about a sentence pair because a grammar generated it.

Positions count words from 0. They are positions of English words unless the name says "target"; `alignment` maps
English positions to French ones. `dataclasses.asdict` turns annotations into JSON, with each word as a list.
"""

from dataclasses import dataclass
from typing import NamedTuple


class WordAnnotation(NamedTuple):
    """A word, the character of its sentence at which it starts, and its word class."""

    text: str
    start: int
    kind: str


@dataclass(frozen=True, slots=True)
class VerbAnnotation:
    """A verb, its tense, and the heads of its arguments.

    The object may follow a preposition ("sat on the mat").
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
    """A pronoun ("it" or "they") whose French form depends on its antecedent.

    If the pronoun is ambiguous, `distractor` is the other noun it could refer to, and `cue` is the word that decides
    between the two. `both_roles` means that the two nouns also occur with their roles swapped. `same_gender` means
    that the French pronoun does not reveal the antecedent, because both nouns have the same gender.
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
    """All annotations of one pair. `alignment` and `adjectives` (adjective, noun) hold pairs of positions."""

    kind: str
    source: tuple[WordAnnotation, ...]
    target: tuple[WordAnnotation, ...]
    alignment: tuple[tuple[int, int], ...]
    verbs: tuple[VerbAnnotation, ...]
    adjectives: tuple[tuple[int, int], ...]
    tense: str | None
    sentiment: str | None
    coreference: CoreferenceAnnotation | None

"""What is known about a pair, because the grammar made it: every position counts words from 0.

Positions are those of English words unless a name says "target"; `alignment` leads from one side to the other. All of
it turns into JSON with `dataclasses.asdict`, words as lists.
"""

from dataclasses import dataclass
from typing import NamedTuple


class WordAnnotation(NamedTuple):
    """A word as it stands in its sentence, from character `start` on; what kind of word it is."""

    text: str
    start: int
    kind: str


@dataclass(frozen=True, slots=True)
class VerbAnnotation:
    """A verb with its tense and the heads of the phrases that belong to it.

    The object may stand behind a preposition ("sat on the mat"): it is what the verb is about after its subject.
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
    """A pronoun ("it", or "they") whose French depends on the noun it stands for.

    With `other`, the noun it might have stood for, `decider` is the word that decides between the two. `both_roles`
    says that the two nouns also occur the other way round. Where they share their gender, the French pronoun
    proves nothing.
    """

    at: int
    target: int
    antecedent: int
    gender: str
    number: str
    other: int | None = None
    decider: int | None = None
    slot: str | None = None
    frame: str | None = None
    both_roles: bool = False
    same_gender: bool = False


@dataclass(frozen=True, slots=True)
class Annotations:
    """Everything known about one pair. `alignment` and `adjectives` (adjective, noun) are pairs of positions."""

    kind: str
    source: tuple[WordAnnotation, ...]
    target: tuple[WordAnnotation, ...]
    alignment: tuple[tuple[int, int], ...]
    verbs: tuple[VerbAnnotation, ...]
    adjectives: tuple[tuple[int, int], ...]
    tense: str | None
    sentiment: str | None
    it: CoreferenceAnnotation | None

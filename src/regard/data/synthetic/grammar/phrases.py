"""Phrases of two languages at once, made of words that know which words of the other side they translate.

A phrase is two lists of leaves; a `Draft` collects what links them and what is true of them while a sentence is put
together, and numbers the leaves at the end. Before that, "de le" and "que elle" stand as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from regard.data.synthetic.grammar import french
from regard.data.synthetic.grammar.lexicon import Adjective, Noun
from regard.data.synthetic.grammar.verb_groups import Who

Leaves = list["Leaf"]


class Leaf:
    """A word of a sentence that is still being made; when the sentence is written, it learns its place."""

    __slots__ = ("at", "kind", "text")
    at: int

    def __init__(self, text: str, kind: str) -> None:
        self.text = text
        self.kind = kind


@dataclass(slots=True)
class Phrase:
    """What is said, in English and in French."""

    en: Leaves = field(default_factory=list)
    fr: Leaves = field(default_factory=list)

    def add(self, other: "Phrase") -> "Phrase":
        self.en += other.en
        self.fr += other.fr
        return self


_who = cache(Who)


@dataclass(slots=True)
class NounPhrase(Phrase):
    """A phrase that can be a subject or an object; `head` and `target` are its nouns (or pronouns)."""

    head: Leaf | None = None
    target: Leaf | None = None
    gender: str = "m"
    plural: bool = False
    person: int = 3
    noun: Noun | None = None

    @property
    def who(self) -> Who:
        """What a verb must know of it."""
        return _who(self.person, self.plural, self.gender)


@dataclass(slots=True)
class VerbFacts:
    """What becomes a `truth.Verb`."""

    leaf: Leaf
    tense: str
    target_tense: str
    negated: bool
    subject: Leaf | None
    object: Leaf | None = None
    instrument: Leaf | None = None


@dataclass(slots=True)
class ItFacts:
    """What becomes a `truth.It`."""

    pronoun: NounPhrase
    antecedent: NounPhrase
    other: NounPhrase | None = None
    decider: Leaf | None = None
    decider_target: Leaf | None = None
    slot: str | None = None
    frame: str | None = None
    both_roles: bool = False


@dataclass(slots=True)
class Draft:
    """What is true of a sentence that is still being made. The first verb noted as `main` gives the tense."""

    kind: str
    links: list[tuple[Leaf, Leaf]] = field(default_factory=list)
    verbs: list[VerbFacts] = field(default_factory=list)
    adjectives: list[tuple[Leaf, Leaf]] = field(default_factory=list)
    main: VerbFacts | None = None
    sentiment: str | None = None
    it: ItFacts | None = None
    en: Leaves = field(default_factory=list)
    fr: Leaves = field(default_factory=list)

    def link(self, sources: Sequence[Leaf], targets: Sequence[Leaf]) -> None:
        """Say that each of `targets` translates each of `sources`."""
        for source in sources:
            for target in targets:
                self.links.append((source, target))

    def fixed(self, source: str, target: str, kind: str, target_kind: str = "") -> Phrase:
        """A set phrase: word by word if there are as many on both sides, else all belong together."""
        en = [Leaf(word, kind) for word in _words(source)]
        fr = [Leaf(word, target_kind or kind) for word in _words(target)]
        if len(en) == len(fr) == 1:
            self.links.append((en[0], fr[0]))
        elif len(en) == len(fr):
            self.links += zip(en, fr, strict=True)
        else:
            self.link(en, fr)
        return Phrase(en, fr)


@cache
def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# How each determiner is said before a masculine, a feminine and a plural noun.
DETERMINERS = {
    "the": ("le", "la", "les"),
    "a": ("un", "une", "des"),
    "some": ("du", "de la", "des"),
    "any": ("du", "de la", "des"),
    "bare": ("du", "de la", "des"),
    "all": ("le", "la", "les"),
    "many": ("beaucoup de",) * 3,
    "how many": ("combien de",) * 3,
    "no": ("de",) * 3,
    "this": ("ce", "cette", "ces"),
    "my": ("mon", "ma", "mes"),
    "your": ("votre", "votre", "vos"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}

NUMBERS = {"two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "six": "six", "ten": "dix"}

# After a negation "un", "des" and "du" become "de".
_INDEFINITE = ("a", "some", "any", "bare")

_UNSAID = ("all", "bare")  # "I like cats", "she eats apples": no English determiner


@cache
def determiner(name: str, gender: str, plural: bool, leads: bool, denied: bool) -> tuple[str, str, str]:
    """A determiner in English and in French, and its kind. `leads`: an adjective follows it in French."""
    if name in NUMBERS:
        return name, NUMBERS[name], "numeral"
    target = DETERMINERS[name][2 if plural else gender == "f"]
    # "de belles maisons"; "pas de maison"
    if name in _INDEFINITE and (denied or (leads and target == "des")):
        target = "de"
    return "" if name in _UNSAID else "these" if name == "this" and plural else name, target, "determiner"


def noun_phrase(
    draft: Draft,
    noun: Noun,
    name: str = "the",
    *,
    plural: bool = False,
    adjective: Adjective | None = None,
    denied: bool = False,
) -> NounPhrase:
    """A noun with its determiner and perhaps an adjective on its French side of the noun."""
    leads = adjective is not None and adjective.leads
    start = draft.fixed(*determiner(name, noun.gender, plural, leads, denied))
    head, target = Leaf(noun.en(plural), "noun"), Leaf(noun.fr(plural), "noun")
    draft.links.append((head, target))
    if not start.en:
        draft.link([head], start.fr)
    phrase = NounPhrase(start.en, start.fr, head, target, noun.gender, plural, 3, noun)
    if adjective is not None:
        _describe(draft, phrase, adjective)
    phrase.en.append(head)
    phrase.fr.insert(len(phrase.fr) - (adjective is not None and not leads), target)
    return phrase


def _describe(draft: Draft, phrase: NounPhrase, adjective: Adjective) -> None:
    """Put an adjective where the noun will follow, and make it agree: "vieil" before a vowel."""
    assert phrase.head is not None and phrase.target is not None
    source, target = Leaf(adjective.english, "adjective"), Leaf(adjective.fr(phrase.gender, phrase.plural), "adjective")
    if adjective.before_vowel and phrase.gender == "m" and not phrase.plural:
        target.text = adjective.before_vowel if french.begins_with_vowel(phrase.target.text) else target.text
    draft.links.append((source, target))
    draft.adjectives.append((source, phrase.head))
    phrase.en.append(source)
    phrase.fr.append(target)


# English, French, person, plural, gender.
PRONOUNS = {
    "I": ("I", "je", 1, False, "m"),
    "you": ("you", "vous", 2, False, "m"),
    "he": ("he", "il", 3, False, "m"),
    "she": ("she", "elle", 3, False, "f"),
    "we": ("we", "nous", 1, True, "m"),
    "they": ("they", "ils", 3, True, "m"),
}

OWN = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their"}


def pronoun(draft: Draft, name: str, gender: str = "") -> NounPhrase:
    """A personal pronoun as a subject; `gender` for those of the third person that stand for a noun."""
    source, target, person, plural, default = PRONOUNS[name]
    if gender == "f" and name == "they":
        target = "elles"
    return subject_leaf(draft, source, target, person, plural, gender or default)


def subject_leaf(
    draft: Draft, source: str, target: str, person: int, plural: bool, gender: str, kind: str = "pronoun"
) -> NounPhrase:
    """A subject of one word."""
    head, leaf = Leaf(source, kind), Leaf(target, kind)
    draft.links.append((head, leaf))
    return NounPhrase([head], [leaf], head, leaf, gender, plural, person)


def owned(draft: Draft, owner: NounPhrase, noun: Noun, *, plural: bool = False) -> NounPhrase:
    """ "the girl's dog", "le chien de la fille"."""
    article = "les" if plural else "la" if noun.gender == "f" else "le"
    head, target = Leaf(noun.en(plural), "noun"), Leaf(noun.fr(plural), "noun")
    mark, of = Leaf("'s", "particle"), Leaf("de", "preposition")
    draft.links += [(head, target), (mark, of)]
    the = Leaf(article, "determiner")
    draft.links.append((head, the))
    return NounPhrase([*owner.en, mark, head], [the, target, of, *owner.fr], head, target, noun.gender, plural, 3, noun)


def place(draft: Draft, source: str, target: str, where: NounPhrase) -> Phrase:
    """A preposition and what it stands before."""
    start = draft.fixed(source, target, "preposition")
    return Phrase(start.en + where.en, start.fr + where.fr)

"""Phrases, which are built in English and French at the same time.

A phrase is two lists of words, one per language; a word is a `Leaf`. While a sentence is built, a `Draft` collects the
word alignment and the other annotations. The function `realise` then sets the positions of the words, and applies
elision and contraction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from regard.data.synthetic.grammar import french
from regard.data.synthetic.grammar.lexicon import Adjective, Noun
from regard.data.synthetic.grammar.verb_groups import Agreement

Leaves = list["Leaf"]


class Leaf:
    """A word of an unfinished sentence. Its position `at` is set when `realise` finishes the sentence."""

    __slots__ = ("at", "kind", "text")
    at: int

    def __init__(self, text: str, kind: str) -> None:
        self.text = text
        self.kind = kind


@dataclass(slots=True)
class Phrase:
    """A phrase in English and in French."""

    en: Leaves = field(default_factory=list)
    fr: Leaves = field(default_factory=list)

    def add(self, phrase: "Phrase") -> "Phrase":
        self.en += phrase.en
        self.fr += phrase.fr
        return self


_agreement = cache(Agreement)


@dataclass(slots=True)
class NounPhrase(Phrase):
    """A phrase that can be a subject or an object.

    `head` is its noun or pronoun in English, and `target` is its noun or pronoun in French.
    """

    head: Leaf | None = None
    target: Leaf | None = None
    gender: str = "m"
    plural: bool = False
    person: int = 3
    noun: Noun | None = None

    @property
    def agreement(self) -> Agreement:
        """The person, number and gender that a verb agrees with."""
        return _agreement(self.person, self.plural, self.gender)


@dataclass(slots=True)
class VerbFacts:
    """A verb of an unfinished sentence. It becomes a `VerbAnnotation` when the positions of the words are known."""

    leaf: Leaf
    tense: str
    target_tense: str
    negated: bool
    subject: Leaf | None
    object: Leaf | None = None
    instrument: Leaf | None = None


@dataclass(slots=True)
class CoreferenceFacts:
    """A pronoun and its antecedent. They become a `CoreferenceAnnotation` when the positions of the words are known."""

    pronoun: NounPhrase
    antecedent: NounPhrase
    distractor: NounPhrase | None = None
    cue: Leaf | None = None
    cue_target: Leaf | None = None
    slot: str | None = None
    frame: str | None = None
    both_roles: bool = False


@dataclass(slots=True)
class Draft:
    """The annotations of an unfinished sentence pair. `en` and `fr` are its words, which `realise` sets.

    `main` is the first verb outside a relative clause. Its tense is annotated as the tense of the sentence.
    """

    kind: str
    links: list[tuple[Leaf, Leaf]] = field(default_factory=list)
    verbs: list[VerbFacts] = field(default_factory=list)
    adjectives: list[tuple[Leaf, Leaf]] = field(default_factory=list)
    main: VerbFacts | None = None
    sentiment: str | None = None
    coreference: CoreferenceFacts | None = None
    en: Leaves = field(default_factory=list)
    fr: Leaves = field(default_factory=list)

    def link(self, sources: Sequence[Leaf], targets: Sequence[Leaf]) -> None:
        """Align every English word of `sources` with every French word of `targets`."""
        for source in sources:
            for target in targets:
                self.links.append((source, target))

    def fixed_phrase(self, source: str, target: str, kind: str, target_kind: str = "") -> Phrase:
        """Return a phrase with the given words in English and French, and align these words.

        If both languages have the same number of words, the words are aligned one by one in their order. Otherwise
        every English word is aligned with every French word.
        """
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


# The French translations of each determiner: before a masculine, a feminine and a plural noun.
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

# Determiners whose French translations "un", "du" and "des" become "de" after a negation.
_INDEFINITE = ("a", "some", "any", "bare")

_NOT_IN_ENGLISH = ("all", "bare")  # English has no determiner in these cases: "I like cats", "she eats apples"


@cache
def determiner(name: str, gender: str, plural: bool, before_adjective: bool, negated: bool) -> tuple[str, str, str]:
    """Return a determiner in English ("" if English has none) and in French, and its word class."""
    if name in NUMBERS:
        return name, NUMBERS[name], "numeral"
    target = DETERMINERS[name][2 if plural else gender == "f"]
    # French uses "de" in "de belles maisons" (plural, before an adjective) and in "pas de maison" (after a negation).
    if name in _INDEFINITE and (negated or (before_adjective and target == "des")):
        target = "de"
    return "" if name in _NOT_IN_ENGLISH else "these" if name == "this" and plural else name, target, "determiner"


def noun_phrase(
    draft: Draft,
    noun: Noun,
    name: str = "the",
    *,
    plural: bool = False,
    adjective: Adjective | None = None,
    negated: bool = False,
) -> NounPhrase:
    """Return a noun with the determiner `name`, and with an adjective if one is given.

    `negated` means that the verb is negated, which changes "une maison" to "de maison" in French.
    """
    precedes_noun = adjective is not None and adjective.precedes_noun
    start = draft.fixed_phrase(*determiner(name, noun.gender, plural, precedes_noun, negated))
    head, target = Leaf(noun.en(plural), "noun"), Leaf(noun.fr(plural), "noun")
    draft.links.append((head, target))
    if not start.en:
        draft.link([head], start.fr)
    phrase = NounPhrase(start.en, start.fr, head, target, noun.gender, plural, 3, noun)
    if adjective is not None:
        _add_adjective(draft, phrase, adjective)
    phrase.en.append(head)
    phrase.fr.insert(len(phrase.fr) - (adjective is not None and not precedes_noun), target)
    return phrase


def _add_adjective(draft: Draft, phrase: NounPhrase, adjective: Adjective) -> None:
    """Append an adjective. Its French form agrees with the noun, and is a special form before a vowel ("vieil")."""
    assert phrase.head is not None and phrase.target is not None
    source, target = Leaf(adjective.english, "adjective"), Leaf(adjective.fr(phrase.gender, phrase.plural), "adjective")
    if adjective.before_vowel and phrase.gender == "m" and not phrase.plural:
        target.text = adjective.before_vowel if french.begins_with_vowel(phrase.target.text) else target.text
    draft.links.append((source, target))
    draft.adjectives.append((source, phrase.head))
    phrase.en.append(source)
    phrase.fr.append(target)


# The English form, the French form, the person, whether it is plural, and the gender of each personal pronoun.
PRONOUNS = {
    "I": ("I", "je", 1, False, "m"),
    "you": ("you", "vous", 2, False, "m"),
    "he": ("he", "il", 3, False, "m"),
    "she": ("she", "elle", 3, False, "f"),
    "we": ("we", "nous", 1, True, "m"),
    "they": ("they", "ils", 3, True, "m"),
}

POSSESSIVES = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their"}


def pronoun(draft: Draft, name: str, gender: str = "") -> NounPhrase:
    """Return a personal pronoun as a subject. If `gender` is "f", "they" becomes "elles" instead of "ils"."""
    source, target, person, plural, default = PRONOUNS[name]
    if gender == "f" and name == "they":
        target = "elles"
    return one_word_subject(draft, source, target, person, plural, gender or default)


def one_word_subject(
    draft: Draft, source: str, target: str, person: int, plural: bool, gender: str, kind: str = "pronoun"
) -> NounPhrase:
    """Return a subject that is one word in each language: a pronoun or a name."""
    head, leaf = Leaf(source, kind), Leaf(target, kind)
    draft.links.append((head, leaf))
    return NounPhrase([head], [leaf], head, leaf, gender, plural, person)


def possessive_phrase(draft: Draft, owner: NounPhrase, noun: Noun, *, plural: bool = False) -> NounPhrase:
    """Return a noun with its owner: "the girl's dog", "le chien de la fille"."""
    article = "les" if plural else "la" if noun.gender == "f" else "le"
    head, target = Leaf(noun.en(plural), "noun"), Leaf(noun.fr(plural), "noun")
    possessive, of = Leaf("'s", "particle"), Leaf("de", "preposition")
    draft.links += [(head, target), (possessive, of)]
    the = Leaf(article, "determiner")
    draft.links.append((head, the))
    return NounPhrase(
        [*owner.en, possessive, head], [the, target, of, *owner.fr], head, target, noun.gender, plural, 3, noun
    )


def prepositional_phrase(draft: Draft, source: str, target: str, where: NounPhrase) -> Phrase:
    """Return a preposition with its noun phrase."""
    start = draft.fixed_phrase(source, target, "preposition")
    return Phrase(start.en + where.en, start.fr + where.fr)

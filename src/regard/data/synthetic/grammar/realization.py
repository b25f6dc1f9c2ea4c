"""A finished draft becomes text: words are numbered, neighbours change each other, and the truth gets its positions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from regard.data.synthetic.annotations import Annotations, CoreferenceAnnotation, VerbAnnotation, WordAnnotation
from regard.data.synthetic.grammar import english, french
from regard.data.synthetic.grammar.phrases import Draft, Leaf, Leaves, Phrase

# French has a space before a question mark.
_ENGLISH = ((" .", "."), (" ,", ","), (" ?", "?"), (" 's", "'s"))

_FRENCH = ((" .", "."), (" ,", ","), ("' ", "'"), (" -", "-"))


@dataclass(frozen=True)
class Pair:
    """An English sentence, its French translation, and what is known about them."""

    source: str
    target: str
    draft: Draft = field(repr=False, compare=False)

    @cached_property
    def truth(self) -> Annotations:
        """Made when asked for: most sentences are only learnt from."""
        return _truth(self)


def write(draft: Draft, phrase: Phrase, ending: str = ".") -> Pair:
    """The pair that `phrase` says, closed by a full stop or another ending."""
    stops = Leaf(ending, "punctuation"), Leaf(ending, "punctuation")
    draft.links.append(stops)
    draft.en = _english([*phrase.en, stops[0]])
    draft.fr = _french([*phrase.fr, stops[1]])
    return Pair(_set_down(draft.en, _ENGLISH), _set_down(draft.fr, _FRENCH), draft)


def _english(leaves: Leaves) -> Leaves:
    for place, leaf in enumerate(leaves):
        leaf.at = place
        if leaf.text == "a":
            leaf.text = english.article(leaves[place + 1].text)
    return leaves


def _french(leaves: Leaves) -> Leaves:
    """Elide and contract. A contracted article has the place of its preposition."""
    kept: Leaves = []
    skip = False
    for place, (leaf, following) in enumerate(pairwise(leaves)):
        if skip:
            skip = False
            continue
        leaf.at = len(kept)
        kept.append(leaf)
        if leaf.text not in french.CHANGING:
            continue
        if following.kind == "determiner" and (found := french.contracted(leaf.text, following.text)):
            if following.text == "le" and french.begins_with_vowel(leaves[place + 2].text):
                continue  # "de l'arbre"
            leaf.text = found
            following.at = leaf.at
            skip = True
        elif found := french.elided(leaf.text, following.text):
            leaf.text = found
    leaves[-1].at = len(kept)
    kept.append(leaves[-1])
    return kept


def _set_down(leaves: Leaves, joined: Sequence[tuple[str, str]]) -> str:
    """The text: words with spaces between, but for those that are `joined` without."""
    first = leaves[0]
    first.text = first.text[0].upper() + first.text[1:]
    text = " ".join([leaf.text for leaf in leaves])
    for apart, together in joined:
        text = text.replace(apart, together)
    return text


def _words(text: str, leaves: Leaves) -> tuple[WordAnnotation, ...]:
    words, end = [], 0
    for leaf in leaves:
        start = text.index(leaf.text, end)
        words.append(WordAnnotation(leaf.text, start, leaf.kind))
        end = start + len(leaf.text)
    return tuple(words)


def _truth(pair: Pair) -> Annotations:
    draft = pair.draft
    verbs = [
        VerbAnnotation(
            facts.leaf.at,
            facts.tense,
            facts.target_tense,
            facts.negated,
            _at(facts.subject),
            _at(facts.object),
            _at(facts.instrument),
        )
        for facts in draft.verbs
    ]
    return Annotations(
        draft.kind,
        _words(pair.source, draft.en),
        _words(pair.target, draft.fr),
        tuple(sorted({(one.at, other.at) for one, other in draft.links})),
        tuple(sorted(verbs, key=lambda verb: verb.at)),
        tuple(sorted((adjective.at, noun.at) for adjective, noun in draft.adjectives)),
        draft.main.tense if draft.main else None,
        draft.sentiment,
        _it(draft),
    )


def _it(draft: Draft) -> CoreferenceAnnotation | None:
    facts = draft.it
    if facts is None:
        return None
    other = facts.other
    return CoreferenceAnnotation(
        _place(facts.pronoun.head),
        _place(facts.pronoun.target),
        _place(facts.antecedent.head),
        facts.antecedent.gender,
        "plural" if facts.antecedent.plural else "singular",
        _at(other.head) if other else None,
        _at(facts.decider),
        facts.slot,
        facts.frame,
        facts.both_roles,
        other is not None and other.gender == facts.antecedent.gender,
    )


def _at(leaf: Leaf | None) -> int | None:
    return None if leaf is None else leaf.at


def _place(leaf: Leaf | None) -> int:
    assert leaf is not None
    return leaf.at

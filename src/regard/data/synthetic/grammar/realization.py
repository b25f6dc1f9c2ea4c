"""Turn a phrase and its draft into a sentence pair.

This applies elision and contraction, numbers the words, and builds the annotations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from regard.data.synthetic.annotations import Annotations, CoreferenceAnnotation, VerbAnnotation, WordAnnotation
from regard.data.synthetic.grammar import english, french
from regard.data.synthetic.grammar.phrases import Draft, Leaf, Leaves, Phrase

# Replacements that delete a space between two words. French keeps the space before a question mark.
_ENGLISH = ((" .", "."), (" ,", ","), (" ?", "?"), (" 's", "'s"))

_FRENCH = ((" .", "."), (" ,", ","), ("' ", "'"), (" -", "-"))


@dataclass(frozen=True)
class Pair:
    """An English sentence and its French translation, with annotations."""

    source: str
    target: str
    draft: Draft = field(repr=False, compare=False)

    @cached_property
    def annotations(self) -> Annotations:
        """The annotations, computed on first use because training does not need them."""
        return _annotations(self)


def realise(draft: Draft, phrase: Phrase, ending: str = ".") -> Pair:
    """Return the sentence pair that consists of a phrase and the final punctuation mark `ending`."""
    stops = Leaf(ending, "punctuation"), Leaf(ending, "punctuation")
    draft.links.append(stops)
    draft.en = _english([*phrase.en, stops[0]])
    draft.fr = _french([*phrase.fr, stops[1]])
    return Pair(_text_of(draft.en, _ENGLISH), _text_of(draft.fr, _FRENCH), draft)


def _english(leaves: Leaves) -> Leaves:
    for position, leaf in enumerate(leaves):
        leaf.at = position
        if leaf.text == "a":
            leaf.text = english.article(leaves[position + 1].text)
    return leaves


def _french(leaves: Leaves) -> Leaves:
    """Set the positions of the French words, and apply elision and contraction.

    A preposition and an article that are contracted to one word ("de" and "le" to "du") get the same position.
    """
    kept: Leaves = []
    skip = False
    for position, (leaf, following) in enumerate(pairwise(leaves)):
        if skip:
            skip = False
            continue
        leaf.at = len(kept)
        kept.append(leaf)
        if leaf.text not in french.CONTEXT_DEPENDENT:
            continue
        if following.kind == "determiner" and (changed := french.contract(leaf.text, following.text)):
            if following.text == "le" and french.begins_with_vowel(leaves[position + 2].text):
                continue  # before a vowel, "le" is elided, not contracted: "de l'arbre"
            leaf.text = changed
            following.at = leaf.at
            skip = True
        elif changed := french.elide(leaf.text, following.text):
            leaf.text = changed
    leaves[-1].at = len(kept)
    kept.append(leaves[-1])
    return kept


def _text_of(leaves: Leaves, joined: Sequence[tuple[str, str]]) -> str:
    """Capitalise the first word, join the words with spaces, and then apply the replacements of `joined`."""
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


def _annotations(pair: Pair) -> Annotations:
    draft = pair.draft
    verbs = [
        VerbAnnotation(
            facts.leaf.at,
            facts.tense,
            facts.target_tense,
            facts.negated,
            _optional_position(facts.subject),
            _optional_position(facts.object),
            _optional_position(facts.instrument),
        )
        for facts in draft.verbs
    ]
    return Annotations(
        draft.kind,
        _words(pair.source, draft.en),
        _words(pair.target, draft.fr),
        tuple(sorted({(source.at, target.at) for source, target in draft.links})),
        tuple(sorted(verbs, key=lambda verb: verb.at)),
        tuple(sorted((adjective.at, noun.at) for adjective, noun in draft.adjectives)),
        draft.main.tense if draft.main else None,
        draft.sentiment,
        _coreference(draft),
    )


def _coreference(draft: Draft) -> CoreferenceAnnotation | None:
    facts = draft.coreference
    if facts is None:
        return None
    distractor = facts.distractor
    return CoreferenceAnnotation(
        _position_of(facts.pronoun.head),
        _position_of(facts.pronoun.target),
        _position_of(facts.antecedent.head),
        facts.antecedent.gender,
        "plural" if facts.antecedent.plural else "singular",
        _optional_position(distractor.head) if distractor else None,
        _optional_position(facts.cue),
        facts.slot,
        facts.frame,
        facts.both_roles,
        distractor is not None and distractor.gender == facts.antecedent.gender,
    )


def _optional_position(leaf: Leaf | None) -> int | None:
    return None if leaf is None else leaf.at


def _position_of(leaf: Leaf | None) -> int:
    assert leaf is not None
    return leaf.at

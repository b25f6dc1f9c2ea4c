"""A finished draft becomes text: words are numbered, neighbours change each other, and the truth gets its positions."""

from regard.data.language import english, french
from regard.data.language.phrases import Draft, Leaf, Leaves, NounPhrase, Phrase
from regard.data.language.truth import It, Pair, Truth, Verb, Word

_VOWEL_FORMS = ("cet", "mon", "son")  # whole words: no apostrophe


def write(draft: Draft, phrase: Phrase, ending: str = ".") -> Pair:
    """The pair that `phrase` says, closed by a full stop or another ending."""
    stops = Leaf(ending, "punctuation"), Leaf(ending, "punctuation")
    draft.links.append(stops)
    source, source_words = _set_down(_english([*phrase.en, stops[0]]), ".,?!")
    target, target_words = _set_down(_french([*phrase.fr, stops[1]]), ".,")
    return Pair(source, target, _truth(draft, source_words, target_words))


def _english(leaves: Leaves) -> Leaves:
    for place, leaf in enumerate(leaves):
        leaf.at = place
        if leaf.text == "a":
            leaf.text = english.article(leaves[place + 1].text)
    return leaves


def _french(leaves: Leaves) -> Leaves:
    """Elide and contract. A contracted article has the place of its preposition."""
    kept: Leaves = []
    last = len(leaves) - 1
    skip = False
    for place, leaf in enumerate(leaves):
        if skip:
            skip = False
            continue
        leaf.at = len(kept)
        kept.append(leaf)
        if place == last:
            break
        following = leaves[place + 1]
        if following.kind == "determiner" and (found := french.contracted(leaf.text, following.text)):
            if following.text == "le" and french.begins_with_vowel(leaves[place + 2].text):
                continue  # "de l'arbre"
            leaf.text = found
            following.at = leaf.at
            skip = True
        elif found := french.elided(leaf.text, following.text):
            leaf.text = found
    return kept


def _set_down(leaves: Leaves, clinging: str) -> tuple[str, tuple[Word, ...]]:
    """The text and its words. Nothing stands between an apostrophe and what follows, nor before what clings."""
    text = ""
    words = []
    for leaf in leaves:
        said = leaf.text
        if not text:
            said = said[0].upper() + said[1:]
        elif text[-1] != "'" and said[0] not in clinging and said[0] not in "'-":
            text += " "
        words.append(Word(said, len(text), leaf.kind))
        text += said
    return text, tuple(words)


def _truth(draft: Draft, source: tuple[Word, ...], target: tuple[Word, ...]) -> Truth:
    verbs = [
        Verb(
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
    return Truth(
        draft.kind,
        source,
        target,
        tuple(sorted({(one.at, other.at) for one, other in draft.links})),
        tuple(sorted(verbs, key=lambda verb: verb.at)),
        tuple(sorted((adjective.at, noun.at) for adjective, noun in draft.adjectives)),
        draft.main.tense if draft.main else None,
        draft.sentiment,
        _it(draft),
    )


def _it(draft: Draft) -> It | None:
    facts = draft.it
    if facts is None:
        return None
    other = facts.other
    return It(
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
    assert leaf is not None and leaf.at >= 0
    return leaf.at

"""Sentences about what people like doing."""

from regard.data.synthetic.grammar import english
from regard.data.synthetic.grammar.clauses import clause
from regard.data.synthetic.grammar.lexicon import Adjective, Noun, Verb, of_class, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, NounPhrase, Phrase, VerbFacts, noun_phrase
from regard.data.synthetic.grammar.realization import Pair, write
from regard.data.synthetic.grammar.subjects import person_phrase, someone
from regard.data.synthetic.grammar.verb_groups import How
from regard.data.synthetic.plausibility import DAILY, somewhere, suits, time_phrase
from regard.data.synthetic.rng import Rng

_LIKING = (
    (verb("love", "adorer", state=True), "positive"),
    (verb("like", "aimer", state=True), "positive"),
    (verb("hate", "détester", state=True), "negative"),
    (verb("prefer", "préférer", state=True), None),
)

# Whoever loves it every week does it every week; that would be another sentence.
_LIKED_WHEN = (*(when for when in DAILY if "every" not in when[0]), ("in winter", "en hiver"))

_ENJOYED = (
    (verb("eat", "manger"), "food meal"),
    (verb("drink", "boire"), "drink"),
    (verb("read", "lire"), "readable"),
    (verb("watch", "regarder"), "animal"),
    (verb("visit", "visiter"), "visited"),
    (verb("prepare", "préparer"), "prepared"),
)

_PASTIMES = (
    verb("sleep", "dormir"),
    verb("run", "courir"),
    verb("swim", "nager"),
    verb("sing", "chanter"),
    verb("dance", "danser"),
    verb("walk", "marcher"),
    verb("work", "travailler"),
)


def liking(dice: Rng, draft: Draft) -> Pair:
    """ "I love eating fresh apples in the morning"."""
    likes, sentiment = dice.pick(_LIKING)
    denial = "not" if likes.english == "like" and dice.chance(0.4) else ""
    how = How(dice.pick(("present", "present", "past")), denial, short=dice.chance(0.5))
    subject = person_phrase(draft, someone(dice))
    indoors = False
    if dice.chance(0.25):
        inner = gerund(draft, subject, dice.pick(_PASTIMES))
    else:
        chosen, classes = dice.pick(_ENJOYED)
        indoors = chosen.english in ("eat", "drink", "read")
        # French watches all lizards, but eats some pears.
        name = "all" if chosen.english == "watch" else "bare"
        noun = dice.pick(of_class(classes))
        like = dice.pick(suits(noun)) if sentiment != "negative" and dice.chance(0.4) else None
        inner = gerund(draft, subject, chosen, _enjoyed(dice, draft, noun, name, like))
    draft.sentiment = sentiment
    if denial and sentiment:
        draft.sentiment = "negative" if sentiment == "positive" else None
    said = clause(draft, subject, likes, how, rest=[inner])
    if dice.chance(0.4):
        said.add(time_phrase(draft, *dice.pick(_LIKED_WHEN)))
    elif indoors and dice.chance(0.3):
        said.add(somewhere(dice, draft))
    return write(draft, said)


def _enjoyed(dice: Rng, draft: Draft, noun: Noun, name: str, adjective: Adjective | None) -> NounPhrase:
    if noun.classes & {"mass"}:
        return noun_phrase(draft, noun, name, adjective=adjective)
    phrase = noun_phrase(draft, noun, name, plural=True, adjective=adjective)
    if adjective and adjective.english == "fresh" and "fruit" in noun.classes and dice.chance(0.3):
        # "fresh apple" as a kind of food, for which French has the plural.
        assert phrase.head is not None
        phrase.head.text = noun.english
    return phrase


def gerund(draft: Draft, subject: NounPhrase, chosen: Verb, about: NounPhrase | None = None) -> Phrase:
    """ "eating apples", "manger des pommes"."""
    source, target = Leaf(english.forms(chosen.english).ing, "verb"), Leaf(chosen.french, "verb")
    draft.links.append((source, target))
    facts = VerbFacts(source, "infinitive", "infinitif", False, subject.head, about.head if about else None)
    draft.verbs.append(facts)
    phrase = Phrase([source], [target])
    return phrase.add(about) if about else phrase

"""Templates for what people like doing."""

from regard.data.synthetic.grammar import english
from regard.data.synthetic.grammar.clauses import clause
from regard.data.synthetic.grammar.lexicon import Adjective, Noun, Verb, nouns_of_class, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, NounPhrase, Phrase, VerbFacts, noun_phrase
from regard.data.synthetic.grammar.realization import Pair, realise
from regard.data.synthetic.grammar.subjects import person_phrase, sample_person_or_pronoun
from regard.data.synthetic.grammar.verb_groups import VerbForm
from regard.data.synthetic.plausibility import DAILY, plausible_adjectives, sample_place, time_phrase
from regard.data.synthetic.rng import Rng

_LIKING = (
    (verb("love", "adorer", state=True), "positive"),
    (verb("like", "aimer", state=True), "positive"),
    (verb("hate", "détester", state=True), "negative"),
    (verb("prefer", "préférer", state=True), None),
)

# "She loves eating pears every week" would be ambiguous, so "every …" is excluded.
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


def liking(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "I love eating fresh apples in the morning"."""
    likes, sentiment = rng.choice(_LIKING)
    negation = "not" if likes.english == "like" and rng.bernoulli(0.4) else ""
    form = VerbForm(rng.choice(("present", "present", "past")), negation, contracted=rng.bernoulli(0.5))
    subject = person_phrase(draft, sample_person_or_pronoun(rng))
    indoors = False
    if rng.bernoulli(0.25):
        inner = gerund(draft, subject, rng.choice(_PASTIMES))
    else:
        chosen, classes = rng.choice(_ENJOYED)
        indoors = chosen.english in ("eat", "drink", "read")
        # French uses the definite article in "regarder les lézards", but the indefinite one in "manger des poires".
        name = "all" if chosen.english == "watch" else "bare"
        noun = rng.choice(nouns_of_class(classes))
        adjective = rng.choice(plausible_adjectives(noun)) if sentiment != "negative" and rng.bernoulli(0.4) else None
        inner = gerund(draft, subject, chosen, _enjoyed(rng, draft, noun, name, adjective))
    draft.sentiment = sentiment
    if negation and sentiment:
        draft.sentiment = "negative" if sentiment == "positive" else None
    sentence = clause(draft, subject, likes, form, rest=[inner])
    if rng.bernoulli(0.4):
        sentence.add(time_phrase(draft, *rng.choice(_LIKED_WHEN)))
    elif indoors and rng.bernoulli(0.3):
        sentence.add(sample_place(rng, draft))
    return realise(draft, sentence)


def _enjoyed(rng: Rng, draft: Draft, noun: Noun, name: str, adjective: Adjective | None) -> NounPhrase:
    if noun.classes & {"mass"}:
        return noun_phrase(draft, noun, name, adjective=adjective)
    phrase = noun_phrase(draft, noun, name, plural=True, adjective=adjective)
    if adjective and adjective.english == "fresh" and "fruit" in noun.classes and rng.bernoulli(0.3):
        # English may use the singular for a kind of food ("eating fresh apple"); French keeps the plural.
        assert phrase.head is not None
        phrase.head.text = noun.english
    return phrase


def gerund(draft: Draft, subject: NounPhrase, chosen: Verb, object_phrase: NounPhrase | None = None) -> Phrase:
    """Return a gerund (in French, an infinitive) with its object: "eating apples", "manger des pommes"."""
    source, target = Leaf(english.forms(chosen.english).ing, "verb"), Leaf(chosen.french, "verb")
    draft.links.append((source, target))
    facts = VerbFacts(
        source, "infinitive", "infinitif", False, subject.head, object_phrase.head if object_phrase else None
    )
    draft.verbs.append(facts)
    phrase = Phrase([source], [target])
    return phrase.add(object_phrase) if object_phrase else phrase

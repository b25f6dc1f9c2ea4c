"""Templates for actions of people, animals and things."""

from dataclasses import replace
from functools import cache

from regard.data.synthetic.grammar import english, french
from regard.data.synthetic.grammar.clauses import clause
from regard.data.synthetic.grammar.lexicon import Action, Noun, Verb, actions, nouns_of_class, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, NounPhrase, Phrase, noun_phrase, prepositional_phrase
from regard.data.synthetic.grammar.realization import Pair, realise
from regard.data.synthetic.grammar.subjects import Person, person_phrase, sample_person, sample_person_or_pronoun
from regard.data.synthetic.grammar.verb_groups import VerbForm, resolve_tense
from regard.data.synthetic.plausibility import (
    indefinite_determiner,
    is_movable,
    sample_noun_phrase,
    sample_place,
    sample_time,
    sample_verb_form,
)
from regard.data.synthetic.rng import Rng

# Verbs of momentary events. They are never progressive in the synthetic language.
_MOMENTARY = {"see", "hear", "find", "lose", "forget", "break", "choose", "arrive", "leave", "fall", "sit", "land"}

# Momentary verbs that can be in the present: "she sees the cat".
_PERCEPTION = {"see", "hear"}

# Verbs of actions that happen to a thing only once. A habit needs an indefinite object: "she buys books every week".
# fmt: off
_ONCE = {
    "break", "bring", "buy", "choose", "come", "cut", "eat", "enter", "find", "forget", "give", "go", "lend", "lose",
    "paint", "prepare", "repair", "sell", "send", "show", "write",
}

# fmt: on
# Verbs that change their meaning before "at": "laughed at the school".
_WITHOUT_AT = {"laugh", "smile", "run", "jump"}

_INTRANSITIVE = tuple(
    verb(source, target)
    for source, target in (
        ("sleep", "dormir"),
        ("run", "courir"),
        ("jump", "sauter"),
        ("swim", "nager"),
        ("fall", "tomber"),
        ("sing", "chanter"),
        ("dance", "danser"),
        ("walk", "marcher"),
        ("work", "travailler"),
        ("laugh", "rire"),
        ("cry", "pleurer"),
        ("smile", "sourire"),
        ("arrive", "arriver"),
        ("leave", "partir"),
        ("wait", "attendre"),
    )
)

_FOR_ANIMALS = 5  # number of verbs at the start of _INTRANSITIVE that also fit animals

_MOVEMENT = (
    (verb("go to", "aller à"), "at"),
    (verb("arrive at", "arriver à"), "at"),
    (verb("come back from", "revenir de"), "at"),
    (verb("enter", "entrer dans"), "inside at"),
    (verb("stay in", "rester dans"), "spot"),
    (verb("stay at", "rester à"), "at"),
    (verb("live in", "habiter dans", state=True), "home"),
)

_GIVING = (
    verb("give", "donner"),
    verb("show", "montrer"),
    verb("lend", "prêter"),
    verb("send", "envoyer"),
    verb("bring", "apporter"),
)

_DREAM_VERBS = (
    verb("sit on", "s'asseoir sur"),
    verb("eat", "manger"),
    verb("follow", "suivre", state=True),
    verb("push", "pousser"),
    verb("carry", "porter", state=True),
    verb("frighten", "effrayer"),
    verb("jump over", "sauter par-dessus"),
    verb("hide", "cacher", state=True),
    verb("look for", "chercher", state=True),
)

LOCK_WITH_A_KEY = verb("lock", "fermer")


def sample_subject(
    rng: Rng, draft: Draft, form: VerbForm, classes: tuple[str, ...], *avoid: Noun
) -> tuple[NounPhrase, Person | None]:
    """Sample a subject from one of the classes of nouns. Return its noun phrase, and its `Person` if it is a person.

    If the subject is not a person, it is never one of the nouns in `avoid`.
    """
    chosen = rng.choice(classes)
    if chosen == "person":
        person = sample_person_or_pronoun(rng)
        return person_phrase(draft, person), person
    noun = rng.choice(nouns_of_class(chosen))
    while noun in avoid:
        noun = rng.choice(nouns_of_class(chosen))
    # Do not use the determiner "a" in sentences such as "a dog does not sleep" or "a dog sleeps every week".
    allow_a = not (form.negation or form.habitual or form.modal) and (form.tense != "present" or form.progressive)
    name = rng.choice(("the", "the", "the", "this", "my", "a") if allow_a else ("the", "the", "the", "this", "my"))
    return noun_phrase(draft, noun, name, plural=name == "the" and rng.bernoulli(0.25)), None


def sample_action_form(rng: Rng, action: Verb, *, modal: float = 0.1, negated: float = 0.2) -> VerbForm:
    """Sample a verb form that fits the verb. `modal` and `negated` are the probabilities of a modal and a negation."""
    name = action.english
    if action.state:
        return VerbForm(
            rng.choice(("present", "past")), "not" if rng.bernoulli(negated) else "", contracted=rng.bernoulli(0.5)
        )
    form = sample_verb_form(rng, progressive=name not in _MOMENTARY, modal=modal, negated=negated)
    if form.negation == "no longer" and name in _ONCE | _MOMENTARY:
        return form._replace(negation="never", habitual=False)
    if form.progressive and form.negation and name in _ONCE:
        return form._replace(progressive=False)
    single_event = form.tense == "present" and not form.frequency and not form.modal and form.negation in ("", "not")
    if single_event and name in _MOMENTARY - _PERCEPTION:
        return form._replace(tense="past", habitual=form.habitual and not form.negation)
    return form


def as_single_event(action: Verb, form: VerbForm) -> VerbForm:
    """Change a verb form to describe a single event: "is crossing" for "crosses", and "broke" for "breaks"."""
    if form.tense != "present" or form.modal or action.english in _PERCEPTION:
        return form
    return form._replace(tense="past") if action.english in _MOMENTARY else form._replace(progressive=True)


def sample_place_and_time(
    rng: Rng,
    draft: Draft,
    form: VerbForm,
    noun: Noun | None = None,
    *,
    where: float = 0.3,
    when: float = 0.35,
    at: bool = True,
) -> list[Phrase]:
    """Sample a place with the probability `where`, and a time with the probability `when`.

    The place is left out if it does not fit `noun`, and the time if it does not fit the verb form. If `at` is false,
    the place does not begin with "at".
    """
    places = (
        [sample_place(rng, draft, noun, at=at)] if (noun is None or is_movable(noun)) and rng.bernoulli(where) else []
    )
    time = _sample_time(rng, draft, form, when)
    return [*places, time] if time else places


def _sample_time(rng: Rng, draft: Draft, form: VerbForm, when: float = 0.35) -> Phrase | None:
    """Sample a time with the probability `when`, or return None.

    A habitual past without an adverb such as "often" always gets a time such as "every day", because nothing else shows
    that it is a habit.
    """
    required = form.habitual and form.tense == "past" and form.negation != "no longer" and not form.frequency
    allowed = not form.modal and not form.perfect and not form.frequency and form.negation not in ("never", "no longer")
    simple_present = form.tense == "present" and not form.progressive and not form.habitual
    if required or (allowed and not simple_present and rng.bernoulli(when)):
        return sample_time(rng, draft, form)
    return None


def action(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "She locked the door with a key"."""
    chosen = rng.choice(actions())
    form = sample_action_form(rng, chosen.verb)
    noun = rng.choice(nouns_of_class(" ".join(chosen.objects)))
    subject, person = sample_subject(rng, draft, form, chosen.subjects, noun)
    form = resolve_tense(chosen.verb, subject.agreement, form)
    object_phrase = _sample_object(rng, draft, chosen.verb, noun, person, form)
    tool, instrument = _sample_instrument(rng, draft, chosen, noun)
    chosen_verb = LOCK_WITH_A_KEY if instrument and chosen.tool == "tool-lock" else chosen.verb
    where = [sample_place(rng, draft, noun)] if is_movable(noun) and rng.bernoulli(0.3) else []
    sentence = clause(draft, subject, chosen_verb, form, object_phrase, [*tool, *where], instrument=instrument)
    time = None if chosen_verb.state else _sample_time(rng, draft, form)
    if time is None:
        return realise(draft, sentence)
    if form.tense != "present" and rng.bernoulli(0.25):
        return realise(draft, time.add(draft.fixed_phrase(",", ",", "punctuation")).add(sentence))
    return realise(draft, sentence.add(time))


def _sample_object(
    rng: Rng, draft: Draft, action: Verb, noun: Noun, person: Person | None, form: VerbForm
) -> NounPhrase:
    if "person" in noun.classes:
        return person_phrase(draft, _sample_another_person(rng, person))
    negated = bool(form.negation)
    if form.habitual and action.english in _ONCE:
        return noun_phrase(draft, noun, "bare", plural="mass" not in noun.classes, negated=negated)
    # Negation changes the French article in "pas de chaise", but not after a preposition: "pas sur une chaise".
    if action.french_tail:
        return noun_phrase(draft, noun, rng.choice(("the", "the", "a", "this")))
    allow_a = not form.frequency and not (negated and (form.modal or form.negation != "not"))
    return sample_noun_phrase(
        rng, draft, noun, indefinite_determiner(form), owner=person, negated=negated, allow_a=allow_a
    )


def _sample_another_person(rng: Rng, person: Person | None) -> Person:
    """Sample a person other than the subject, which excludes "Paul gave a hat to Paul"."""
    another = sample_person(rng)
    while another == person:
        another = sample_person(rng)
    return another


def _sample_instrument(rng: Rng, draft: Draft, chosen: Action, noun: Noun) -> tuple[list[Phrase], NounPhrase | None]:
    by_hand = chosen.tool == "tool-eat" and "forked" not in noun.classes
    if not chosen.tool or by_hand or not rng.bernoulli(0.5):
        return [], None
    if chosen.tool == "tool-lock":
        return with_a_key(draft)
    noun = rng.choice(nouns_of_class(chosen.tool))
    phrase = noun_phrase(draft, noun, rng.choice(("a", "a", "a", "the", "this")))
    return [prepositional_phrase(draft, "with", "avec", phrase)], phrase


def with_a_key(draft: Draft) -> tuple[list[Phrase], NounPhrase]:
    """Return the phrase "with a key", "à clé" in French, and the noun phrase of the key alone."""
    start = draft.fixed_phrase("with", "à", "preposition")
    article, key, target = Leaf("a", "determiner"), Leaf("key", "noun"), Leaf("clé", "noun")
    draft.link([article, key], [target])
    phrase = NounPhrase([article, key], [target], key, target, "f")
    return [start.add(phrase)], phrase


def intransitive(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The children sleep in the garden"."""
    animal = rng.bernoulli(0.25)
    chosen = rng.choice(_INTRANSITIVE[:_FOR_ANIMALS] if animal else _INTRANSITIVE)
    form = sample_action_form(rng, chosen, modal=0.0 if chosen.english == "fall" else 0.1)
    subject, _ = sample_subject(rng, draft, form, ("animal",) if animal else ("person",))
    rest = sample_place_and_time(rng, draft, form, where=0.45, at=chosen.english not in _WITHOUT_AT)
    return realise(draft, clause(draft, subject, chosen, form, rest=rest))


def movement(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "She went to the market"."""
    chosen, where = rng.choice(_MOVEMENT)
    form = sample_action_form(rng, chosen) if not chosen.state else VerbForm(rng.choice(("present", "past")), "")
    subject, _ = sample_subject(rng, draft, form, ("person",))
    object_phrase = noun_phrase(draft, rng.choice(nouns_of_class(where)))
    when = [] if chosen.state else sample_place_and_time(rng, draft, form, where=0.0)
    return realise(draft, clause(draft, subject, chosen, form, object_phrase, when))


def giving(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "He gave the book to the girl"."""
    chosen = rng.choice(_GIVING)
    form = sample_action_form(rng, chosen)
    subject, person = sample_subject(rng, draft, form, ("person",))
    object_phrase = _sample_object(rng, draft, chosen, rng.choice(nouns_of_class("carried wearable")), person, form)
    receiver = prepositional_phrase(draft, "to", "à", person_phrase(draft, _sample_another_person(rng, person)))
    rest = [receiver, *sample_place_and_time(rng, draft, form, where=0.1)]
    return realise(draft, clause(draft, subject, chosen, form, object_phrase, rest))


def dream(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "In my dream, the mat sat on the cat", in which all nouns and verbs can be combined."""
    chosen = rng.choice(_DREAM_VERBS)
    first, second = rng.choice(nouns_of_class(_ANYTHING)), rng.choice(nouns_of_class(_ANYTHING))
    # Two combinations are excluded. Birds do not sit, because they land. Clothes are not carried, because "porter
    # un chapeau" means to wear a hat.
    while chosen.english == "sit" and "bird" in first.classes:
        first = rng.choice(nouns_of_class(_ANYTHING))
    while second is first or (chosen.english == "carry" and "wearable" in second.classes):
        second = rng.choice(nouns_of_class(_ANYTHING))
    start = draft.fixed_phrase("in", "dans", "preposition").add(draft.fixed_phrase("my", "mon", "determiner"))
    start.add(draft.fixed_phrase("dream", "rêve", "noun")).add(draft.fixed_phrase(",", ",", "punctuation"))
    sentence = clause(draft, noun_phrase(draft, first), chosen, VerbForm("past"), noun_phrase(draft, second))
    return realise(draft, start.add(sentence))


_ANYTHING = "animal furniture vehicle snack breakable building portable"


def passive(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The door was opened by the man"."""
    chosen = rng.choice(transitive_actions())
    passive_verb = passive_of(chosen.verb)
    noun = rng.choice(nouns_of_class(" ".join(chosen.objects)))
    subject = noun_phrase(draft, noun, rng.choice(("the", "the", "this")), plural=rng.bernoulli(0.25))
    by = person_phrase(draft, sample_person(rng))
    tense = "past" if chosen.verb.english in _MOMENTARY else rng.choice(("past", "past", "future"))
    form = VerbForm(tense, "not" if rng.bernoulli(0.2) else "", contracted=rng.bernoulli(0.5))
    rest = sample_place_and_time(rng, draft, form, noun, where=0.15, when=0.3)
    return realise(draft, clause(draft, subject, passive_verb, form, by, rest))


@cache
def transitive_actions() -> tuple[Action, ...]:
    """Return the actions that people can do and whose verb has a direct object in both languages.

    Verbs that describe a state are left out. So are verbs whose object can be a drink, a meal or a person.
    """
    return tuple(
        candidate
        for candidate in actions()
        if "person" in candidate.subjects
        and not (candidate.verb.english_tail or candidate.verb.french_tail)
        and not (candidate.verb.reflexive or candidate.verb.state)
        and not {"drink", "meal", "prepared", "person"} & set(candidate.objects)
    )


@cache
def passive_of(chosen: Verb) -> Verb:
    """Return the passive of a verb: "be opened by", "être ouvert par"."""
    participle = french.conjugate(chosen.french).participle
    return replace(
        chosen,
        english="be",
        english_tail=(english.forms(chosen.english).participle, "by"),
        french="être",
        french_tail=(participle + "*", "par"),
    )

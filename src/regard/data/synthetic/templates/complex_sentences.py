"""Templates for sentences with more than one clause."""

from regard.data.synthetic.grammar.clauses import clause, copula, relative_object, relative_subject
from regard.data.synthetic.grammar.lexicon import nouns_of_class, verb
from regard.data.synthetic.grammar.phrases import (
    PRONOUNS,
    CoreferenceFacts,
    Draft,
    Leaf,
    NounPhrase,
    Phrase,
    noun_phrase,
    pronoun,
)
from regard.data.synthetic.grammar.realization import Pair, realise
from regard.data.synthetic.grammar.subjects import Person, person_phrase, sample_person_or_pronoun
from regard.data.synthetic.grammar.verb_groups import VerbForm, resolve_tense
from regard.data.synthetic.plausibility import (
    TIMES,
    indefinite_determiner,
    is_movable,
    plausible_adjectives,
    sample_noun_phrase,
    sample_place,
    time_phrase,
)
from regard.data.synthetic.rng import Rng
from regard.data.synthetic.templates.actions import as_single_event, transitive_actions
from regard.data.synthetic.templates.copular_clauses import sample_copula_form, sample_degree, sample_noun_subject

# The second verb in sentences such as "I bought a key but I lost it", the classes of nouns that can be its object, and
# the conjunction between the two clauses in English and French.
_SECOND_VERBS = (
    (verb("lose", "perdre"), "wearable carried", "but", "mais"),
    (verb("sell", "vendre"), "wearable goods", "but", "mais"),
    (verb("break", "casser"), "breakable", "but", "mais"),
    (verb("hide", "cacher"), "carried wearable", "and", "et"),
    (verb("clean", "nettoyer"), "breakable", "and", "et"),
    (verb("repair", "réparer"), "repairable", "and", "et"),
)

_ACQUISITION_VERBS = (verb("buy", "acheter"), verb("find", "trouver"), verb("choose", "choisir"))

_REPORTING_VERBS = (
    (verb("say", "dire"), "past"),
    (verb("think", "penser", state=True), "present"),
    (verb("know", "savoir", state=True), "present"),
    (verb("forget", "oublier"), "past"),
)


def long_distance_agreement(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The letters that the girl wrote in the garden are long".

    A relative clause separates the subject ("letters") from the verb that agrees with it ("are").
    """
    chosen = rng.choice(transitive_actions())
    noun = rng.choice(nouns_of_class(" ".join(chosen.objects)))
    head = noun_phrase(draft, noun, plural=rng.bernoulli(0.3))
    relative_subject_phrase = person_phrase(draft, sample_person_or_pronoun(rng))
    rest = [sample_place(rng, draft, noun)] if is_movable(noun) and rng.bernoulli(0.5) else []
    relative_form = as_single_event(chosen.verb, VerbForm(rng.choice(("past", "past", "past", "present", "future"))))
    if relative_form.tense == "past" and rng.bernoulli(0.25):
        rest.append(time_phrase(draft, *rng.choice(TIMES["past"])))
    resolved_form = resolve_tense(chosen.verb, relative_subject_phrase.agreement, relative_form)
    subject = relative_object(draft, head, relative_subject_phrase, chosen.verb, resolved_form, rest)
    adjective = rng.choice(plausible_adjectives(noun))
    form = sample_copula_form(rng)
    form = form._replace(tense=rng.choice(("present", "past")) if relative_form.tense == "past" else "present")
    return realise(draft, copula(draft, subject, adjective, form, sample_degree(rng, adjective, form)))


def subject_relative(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The girl who found the key in the garden is happy"."""
    chosen = rng.choice(transitive_actions())
    noun = rng.choice(nouns_of_class("person"))
    while "kin" in noun.classes:  # "my mother" needs no relative clause
        noun = rng.choice(nouns_of_class("person"))
    head = noun_phrase(draft, noun, plural=rng.bernoulli(0.25))
    thing_noun = rng.choice(nouns_of_class(" ".join(chosen.objects)))
    form = as_single_event(chosen.verb, VerbForm(rng.choice(("past", "past", "present"))))

    def inner(subject: NounPhrase) -> Phrase:
        object_phrase = sample_noun_phrase(rng, draft, thing_noun, indefinite_determiner(form))
        rest = [sample_place(rng, draft, thing_noun)] if is_movable(thing_noun) and rng.bernoulli(0.4) else []
        resolved_form = resolve_tense(chosen.verb, subject.agreement, form)
        return clause(draft, subject, chosen.verb, resolved_form, object_phrase, rest)

    subject = relative_subject(draft, head, inner)
    adjective = rng.choice(plausible_adjectives(noun))
    copula_form = sample_copula_form(rng)
    copula_form = copula_form._replace(tense="present" if form.tense == "present" else rng.choice(("present", "past")))
    return realise(draft, copula(draft, subject, adjective, copula_form, sample_degree(rng, adjective, copula_form)))


def reported_speech(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The girls said that they were tired", "… qu'elles étaient fatiguées"."""
    chosen, tense = rng.choice(_REPORTING_VERBS)
    noun = rng.choice(nouns_of_class("person"))
    several = "one" not in noun.classes and rng.bernoulli(0.4)
    person = Person("my" if "kin" in noun.classes else "the", noun, several)
    subject = person_phrase(draft, person)
    sentence = clause(draft, subject, chosen, VerbForm(tense))
    that = draft.fixed_phrase("that", "que", "conjunction")
    if rng.bernoulli(0.5):
        name = "they" if several else "she" if noun.gender == "f" else "he"
        inner_subject = pronoun(draft, name, noun.gender)
        if several:
            draft.coreference = CoreferenceFacts(inner_subject, subject)
        adjective = rng.choice(plausible_adjectives(noun))
    else:
        inner_noun = rng.choice(nouns_of_class(rng.choice(("animal", "vehicle", "building", "wearable", "breakable"))))
        inner_subject = sample_noun_subject(rng, draft, inner_noun)
        adjective = rng.choice(plausible_adjectives(inner_noun))
    form = VerbForm("past" if tense == "past" else rng.choice(("present", "past")))
    inner = copula(draft, inner_subject, adjective, form, sample_degree(rng, adjective, form))
    return realise(draft, sentence.add(that).add(inner))


def object_pronoun(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "I bought a key but I lost it", "… je l'ai perdue"."""
    chosen, classes, english, target = rng.choice(_SECOND_VERBS)
    several = rng.bernoulli(0.15)
    noun = rng.choice(nouns_of_class(classes))
    person = sample_person_or_pronoun(rng)
    subject = person_phrase(draft, person)
    object_phrase = noun_phrase(draft, noun, rng.choice(("some" if several else "a", "the", "this")), plural=several)
    sentence = clause(draft, subject, rng.choice(_ACQUISITION_VERBS), VerbForm("past"), object_phrase)
    conjunction = draft.fixed_phrase(english, target, "conjunction")
    if person.name in PRONOUNS:
        second_subject = person_phrase(draft, person)
    else:
        second_subject = pronoun(draft, _personal_pronoun(subject), subject.gender)
    clitic = "les" if object_phrase.plural else "la" if object_phrase.gender == "f" else "le"
    second = clause(draft, second_subject, chosen, VerbForm("past"), preceding_object=object_phrase, clitic=clitic)
    source = Leaf("them" if object_phrase.plural else "it", "pronoun")
    leaf = next(leaf for leaf in second.fr if leaf.text == clitic and leaf.kind == "pronoun")
    draft.links.append((source, leaf))
    draft.verbs[-1].object = source
    draft.coreference = CoreferenceFacts(NounPhrase([source], [leaf], source, leaf), object_phrase)
    second.en.append(source)
    return realise(draft, sentence.add(conjunction).add(second))


def _personal_pronoun(subject: NounPhrase) -> str:
    return "they" if subject.plural else "she" if subject.gender == "f" else "he"

"""Sentences of more than one clause, questions and requests."""

from regard.data.synthetic.grammar.clauses import clause, copula, relative_object, relative_subject
from regard.data.synthetic.grammar.lexicon import of_class, verb
from regard.data.synthetic.grammar.phrases import (
    PRONOUNS,
    Draft,
    ItFacts,
    Leaf,
    NounPhrase,
    Phrase,
    noun_phrase,
    pronoun,
)
from regard.data.synthetic.grammar.realization import Pair, write
from regard.data.synthetic.grammar.subjects import Person, person_phrase, someone
from regard.data.synthetic.grammar.verb_groups import How, told
from regard.data.synthetic.plausibility import TIMES, movable, some, somewhere, suits, thing, time_phrase
from regard.data.synthetic.rng import Rng
from regard.data.synthetic.templates.actions import direct, just_now
from regard.data.synthetic.templates.copular_clauses import degree, draw_how, subject_of

_FATES = (
    (verb("lose", "perdre"), "wearable carried", "but", "mais"),
    (verb("sell", "vendre"), "wearable goods", "but", "mais"),
    (verb("break", "casser"), "breakable", "but", "mais"),
    (verb("hide", "cacher"), "carried wearable", "and", "et"),
    (verb("clean", "nettoyer"), "breakable", "and", "et"),
    (verb("repair", "réparer"), "repairable", "and", "et"),
)

_ACQUIRED = (verb("buy", "acheter"), verb("find", "trouver"), verb("choose", "choisir"))

_KNOWN = (
    (verb("say", "dire"), "past"),
    (verb("think", "penser", state=True), "present"),
    (verb("know", "savoir", state=True), "present"),
    (verb("forget", "oublier"), "past"),
)


def far(dice: Rng, draft: Draft) -> Pair:
    """ "The letters that the girl wrote in the garden are long": the verb is far from its subject."""
    chosen = dice.pick(direct())
    noun = dice.pick(of_class(" ".join(chosen.objects)))
    head = noun_phrase(draft, noun, plural=dice.chance(0.3))
    who = person_phrase(draft, someone(dice))
    rest = [somewhere(dice, draft, noun)] if movable(noun) and dice.chance(0.5) else []
    does = just_now(chosen.verb, How(dice.pick(("past", "past", "past", "present", "future"))))
    if does.tense == "past" and dice.chance(0.25):
        rest.append(time_phrase(draft, *dice.pick(TIMES["past"])))
    subject = relative_object(draft, head, who, chosen.verb, told(chosen.verb, who.who, does), rest)
    adjective = dice.pick(suits(noun))
    how = draw_how(dice)._replace(tense=dice.pick(("present", "past")) if does.tense == "past" else "present")
    return write(draft, copula(draft, subject, adjective, how, degree(dice, adjective, how)))


def who_does(dice: Rng, draft: Draft) -> Pair:
    """ "The girl who found the key in the garden is happy"."""
    chosen = dice.pick(direct())
    noun = dice.pick(of_class("person"))
    while "kin" in noun.classes:  # "my mother" needs no telling which
        noun = dice.pick(of_class("person"))
    head = noun_phrase(draft, noun, plural=dice.chance(0.25))
    thing_noun = dice.pick(of_class(" ".join(chosen.objects)))
    how = just_now(chosen.verb, How(dice.pick(("past", "past", "present"))))

    def inner(subject: NounPhrase) -> Phrase:
        about = thing(dice, draft, thing_noun, some(how))
        rest = [somewhere(dice, draft, thing_noun)] if movable(thing_noun) and dice.chance(0.4) else []
        return clause(draft, subject, chosen.verb, told(chosen.verb, subject.who, how), about, rest)

    subject = relative_subject(draft, head, inner)
    adjective = dice.pick(suits(noun))
    how_is = draw_how(dice)._replace(tense=how.tense if how.tense == "present" else dice.pick(("present", "past")))
    return write(draft, copula(draft, subject, adjective, how_is, degree(dice, adjective, how_is)))


def report(dice: Rng, draft: Draft) -> Pair:
    """ "The girls said that they were tired", "… qu'elles étaient fatiguées"."""
    chosen, tense = dice.pick(_KNOWN)
    noun = dice.pick(of_class("person"))
    several = "one" not in noun.classes and dice.chance(0.4)
    who = Person("my" if "kin" in noun.classes else "the", noun, several)
    subject = person_phrase(draft, who)
    said = clause(draft, subject, chosen, How(tense))
    that = draft.fixed("that", "que", "conjunction")
    if dice.chance(0.5):
        name = "they" if several else "she" if noun.gender == "f" else "he"
        other = pronoun(draft, name, noun.gender)
        if several:
            draft.it = ItFacts(other, subject)
        adjective = dice.pick(suits(noun))
    else:
        other_noun = dice.pick(of_class(dice.pick(("animal", "vehicle", "building", "wearable", "breakable"))))
        other, adjective = subject_of(dice, draft, other_noun), dice.pick(suits(other_noun))
    how = How("past" if tense == "past" else dice.pick(("present", "past")))
    return write(draft, said.add(that).add(copula(draft, other, adjective, how, degree(dice, adjective, how))))


def fate(dice: Rng, draft: Draft) -> Pair:
    """ "I bought a key but I lost it", "… je l'ai perdue"."""
    chosen, classes, english, target = dice.pick(_FATES)
    several = dice.chance(0.15)
    noun = dice.pick(of_class(classes))
    who = someone(dice)
    subject = person_phrase(draft, who)
    about = noun_phrase(draft, noun, dice.pick(("some" if several else "a", "the", "this")), plural=several)
    said = clause(draft, subject, dice.pick(_ACQUIRED), How("past"), about)
    link = draft.fixed(english, target, "conjunction")
    again = person_phrase(draft, who) if who.name in PRONOUNS else pronoun(draft, _pronoun_for(subject), subject.gender)
    clitic = "les" if about.plural else "la" if about.gender == "f" else "le"
    later = clause(draft, again, chosen, How("past"), before=about, clitic=clitic)
    source = Leaf("them" if about.plural else "it", "pronoun")
    leaf = next(leaf for leaf in later.fr if leaf.text == clitic and leaf.kind == "pronoun")
    draft.links.append((source, leaf))
    draft.verbs[-1].object = source
    draft.it = ItFacts(NounPhrase([source], [leaf], source, leaf), about)
    later.en.append(source)
    return write(draft, said.add(link).add(later))


def _pronoun_for(subject: NounPhrase) -> str:
    return "they" if subject.plural else "she" if subject.gender == "f" else "he"

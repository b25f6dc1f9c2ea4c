"""Sentences of more than one clause, questions and requests."""

from regard.data.language import french
from regard.data.language.being import degree, draw_how, subject_of
from regard.data.language.clauses import BE, clause, copula, relative_object, relative_subject
from regard.data.language.dice import Dice
from regard.data.language.doing import direct, just_now, settled
from regard.data.language.likely import TIMES, movable, some, somewhere, suits, thing, time_phrase
from regard.data.language.people import Person, person_phrase, someone
from regard.data.language.phrases import PRONOUNS, Draft, ItFacts, Leaf, NounPhrase, Phrase, noun_phrase, pronoun
from regard.data.language.verbs import How, plan, told
from regard.data.language.words import Action, Noun, of_class, verb
from regard.data.language.writing import Pair, write

_FATES = (
    (verb("lose", "perdre"), "wearable carried", "but", "mais"),
    (verb("sell", "vendre"), "wearable goods", "but", "mais"),
    (verb("break", "casser"), "breakable", "but", "mais"),
    (verb("hide", "cacher"), "carried wearable", "and", "et"),
    (verb("clean", "nettoyer"), "breakable", "and", "et"),
    (verb("repair", "réparer"), "repairable", "and", "et"),
)
_ACQUIRED = (verb("buy", "acheter"), verb("find", "trouver"), verb("choose", "choisir"))
_GO = verb("go", "aller")
_UNASKED = {"break", "lose", "forget", "see", "hear", "find"}
_KNOWN = (
    (verb("say", "dire"), "past"),
    (verb("think", "penser", state=True), "present"),
    (verb("know", "savoir", state=True), "present"),
    (verb("forget", "oublier"), "past"),
)


def far(dice: Dice, draft: Draft) -> Pair:
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


def who_does(dice: Dice, draft: Draft) -> Pair:
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


def report(dice: Dice, draft: Draft) -> Pair:
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


def fate(dice: Dice, draft: Draft) -> Pair:
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


def question(dice: Dice, draft: Draft) -> Pair:
    """A question of one of several kinds."""
    return dice.pick((_yes_no, _yes_no, _is_it, _where_is, _who, _what, _adverb, _adverb, _how_many))(dice, draft)


def _ask(draft: Draft, source: str, target: str) -> Phrase:
    """What a question starts with, and "est-ce que"."""
    start = draft.fixed(source, target, "adverb") if source else Phrase()
    return start.add(Phrase([], [Leaf("est-ce", "particle"), Leaf("que", "particle")]))


def _drawn(dice: Dice, draft: Draft) -> tuple[Action, Noun, NounPhrase, How]:
    chosen = dice.pick(direct())
    noun = dice.pick(of_class(" ".join(chosen.objects)))
    how = just_now(chosen.verb, How(dice.pick(("past", "past", "present", "future")), asks=True))
    who = someone(dice)
    while who.name == "I":  # who should know
        who = someone(dice)
    return chosen, noun, person_phrase(draft, who), how


def _yes_no(dice: Dice, draft: Draft) -> Pair:
    chosen, noun, subject, how = _drawn(dice, draft)
    rest = settled(dice, draft, how, noun, where=0.2, when=0.2)
    start = _ask(draft, "", "")
    said = clause(draft, subject, chosen.verb, how, thing(dice, draft, noun, "any"), rest)
    draft.link([said.en[0]], start.fr)
    return write(draft, start.add(said), "?")


def _is_it(dice: Dice, draft: Draft) -> Pair:
    past = dice.chance(0.4)
    how = How("past" if past else "present", asks=True)
    if dice.chance(0.5):
        noun = dice.pick(of_class(dice.pick(("animal", "vehicle", "building", "opinion"))))
        subject, adjective = subject_of(dice, draft, noun), dice.pick(suits(noun))
        start = _ask(draft, "", "")
        said = copula(draft, subject, adjective, how, degree(dice, adjective, how))
        draft.link([said.en[0]], start.fr)
        return write(draft, start.add(said), "?")
    name = dice.pick(("you", "he", "she", "we", "they"))
    subject = pronoun(draft, name)
    adjective = dice.pick(suits(of_class("person")[0]))
    said = copula(draft, subject, adjective, how, degree(dice, adjective, how))
    return write(draft, _inverted(said), "?")


def _inverted(said: Phrase) -> Phrase:
    """ "vous êtes" becomes "êtes-vous", "elle va" becomes "va-t-elle"."""
    subject, finite, *rest = said.fr
    subject.text = ("-t-" if finite.text[-1] in "aec" else "-") + subject.text
    return Phrase(said.en, [finite, subject, *rest])


def _where_is(dice: Dice, draft: Draft) -> Pair:
    past = dice.chance(0.25)
    start = draft.fixed("where", "où", "adverb")
    if dice.chance(0.4):
        subject = pronoun(draft, dice.pick(("you", "he", "she", "we", "they")))
        how = How("past" if past else "present", progressive=True, asks=True)
        return write(draft, start.add(_inverted(clause(draft, subject, _GO, how))), "?")
    noun = dice.pick(of_class("carried wearable animal vehicle"))
    subject = subject_of(dice, draft, noun)
    words = plan(BE, How("past" if past else "present"), subject.who)
    be = draft.fixed(words.en[0][0], words.fr[0][0], "verb")
    return write(draft, start.add(be).add(subject), "?")


def _who(dice: Dice, draft: Draft) -> Pair:
    chosen = dice.pick(direct())
    noun = dice.pick(of_class(" ".join(chosen.objects)))
    who = draft.fixed("who", "qui", "pronoun")
    subject = NounPhrase(who.en, who.fr, who.en[0], who.fr[0])
    how = How(dice.pick(("past", "past", "present", "future")), modal="want" if dice.chance(0.15) else "")
    how = how._replace(tense="present") if how.modal else just_now(chosen.verb, how)
    rest = settled(dice, draft, how, noun, where=0.2, when=0.2)
    return write(
        draft, clause(draft, subject, chosen.verb, how, thing(dice, draft, noun, "the", any_one=False), rest), "?"
    )


def _what(dice: Dice, draft: Draft) -> Pair:
    chosen, _, subject, how = _drawn(dice, draft)
    what = Phrase([Leaf("what", "pronoun")], [Leaf("qu'est-ce", "pronoun"), Leaf("que", "pronoun")])
    draft.link(what.en, what.fr)
    asked = NounPhrase(what.en, what.fr, what.en[0], what.fr[0])
    rest = settled(dice, draft, how, where=0.3, when=0.2)
    return write(draft, what.add(clause(draft, subject, chosen.verb, how, None, rest, before=asked)), "?")


def _adverb(dice: Dice, draft: Draft) -> Pair:
    chosen, noun, subject, how = _drawn(dice, draft)
    # Nobody asks when somebody is doing it just now.
    now = how.tense == "present"
    source, target = dice.pick((("why", "pourquoi"), ("where", "où"), ("when", "quand"))[: 2 if now else 3])
    start = _ask(draft, source, target)
    said = clause(draft, subject, chosen.verb, how, thing(dice, draft, noun, "the", any_one=False))
    draft.link([said.en[0]], start.fr[1:])
    return write(draft, start.add(said), "?")


def _how_many(dice: Dice, draft: Draft) -> Pair:
    """ "How many apples did he buy?": the participle agrees with what stands before it."""
    chosen, noun, subject, how = _drawn(dice, draft)
    counted = noun_phrase(draft, noun, "how many", plural=True)
    said = clause(draft, subject, chosen.verb, how, before=counted)
    asks = _ask(draft, "", "")
    draft.link([said.en[0]], asks.fr)
    return write(draft, Phrase().add(counted).add(asks).add(said), "?")


def request(dice: Dice, draft: Draft) -> Pair:
    """ "Open the window, please"."""
    chosen = dice.pick(direct())
    while chosen.verb.english in _UNASKED:
        chosen = dice.pick(direct())
    noun = dice.pick(of_class(" ".join(chosen.objects)))
    denied = dice.chance(0.25)
    source, target = Leaf(chosen.verb.english, "verb"), Leaf(french.conjugate(chosen.verb.french).present[3], "verb")
    draft.links.append((source, target))
    phrase = Phrase([source], [target])
    if denied:
        ne, pas = Leaf("ne", "particle"), Leaf("pas", "adverb")
        do, no = Leaf("do", "auxiliary"), Leaf("not", "particle")
        draft.link([no], [ne, pas])
        draft.links.append((do, target))
        phrase = Phrase([do, no, source], [ne, target, pas])
    phrase.add(thing(dice, draft, noun, "the", denied=denied, any_one=not denied))
    if dice.chance(0.5):
        please = draft.fixed("please", "s'il vous plaît", "adverb")
        phrase.add(draft.fixed(",", ",", "punctuation")).add(please)
    return write(draft, phrase)

"""Templates for questions and requests."""

from regard.data.synthetic.grammar import french
from regard.data.synthetic.grammar.clauses import BE, clause, copula
from regard.data.synthetic.grammar.lexicon import Action, Noun, of_class, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, NounPhrase, Phrase, noun_phrase, pronoun
from regard.data.synthetic.grammar.realization import Pair, write
from regard.data.synthetic.grammar.subjects import person_phrase, someone
from regard.data.synthetic.grammar.verb_groups import How, plan
from regard.data.synthetic.plausibility import suits, thing
from regard.data.synthetic.rng import Rng
from regard.data.synthetic.templates.actions import direct, just_now, settled
from regard.data.synthetic.templates.copular_clauses import degree, subject_of

_GO = verb("go", "aller")

_UNASKED = {"break", "lose", "forget", "see", "hear", "find"}


def question(dice: Rng, draft: Draft) -> Pair:
    """A question of one of several kinds."""
    return dice.pick((_yes_no, _yes_no, _is_it, _where_is, _who, _what, _adverb, _adverb, _how_many))(dice, draft)


def _ask(draft: Draft, source: str, target: str) -> Phrase:
    """What a question starts with, and "est-ce que"."""
    start = draft.fixed(source, target, "adverb") if source else Phrase()
    return start.add(Phrase([], [Leaf("est-ce", "particle"), Leaf("que", "particle")]))


def _drawn(dice: Rng, draft: Draft) -> tuple[Action, Noun, NounPhrase, How]:
    chosen = dice.pick(direct())
    noun = dice.pick(of_class(" ".join(chosen.objects)))
    how = just_now(chosen.verb, How(dice.pick(("past", "past", "present", "future")), asks=True))
    who = someone(dice)
    while who.name == "I":  # who should know
        who = someone(dice)
    return chosen, noun, person_phrase(draft, who), how


def _yes_no(dice: Rng, draft: Draft) -> Pair:
    chosen, noun, subject, how = _drawn(dice, draft)
    rest = settled(dice, draft, how, noun, where=0.2, when=0.2)
    start = _ask(draft, "", "")
    said = clause(draft, subject, chosen.verb, how, thing(dice, draft, noun, "any"), rest)
    draft.link([said.en[0]], start.fr)
    return write(draft, start.add(said), "?")


def _is_it(dice: Rng, draft: Draft) -> Pair:
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


def _where_is(dice: Rng, draft: Draft) -> Pair:
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


def _who(dice: Rng, draft: Draft) -> Pair:
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


def _what(dice: Rng, draft: Draft) -> Pair:
    chosen, _, subject, how = _drawn(dice, draft)
    what = Phrase([Leaf("what", "pronoun")], [Leaf("qu'est-ce", "pronoun"), Leaf("que", "pronoun")])
    draft.link(what.en, what.fr)
    asked = NounPhrase(what.en, what.fr, what.en[0], what.fr[0])
    rest = settled(dice, draft, how, where=0.3, when=0.2)
    return write(draft, what.add(clause(draft, subject, chosen.verb, how, None, rest, before=asked)), "?")


def _adverb(dice: Rng, draft: Draft) -> Pair:
    chosen, noun, subject, how = _drawn(dice, draft)
    # Nobody asks when somebody is doing it just now.
    now = how.tense == "present"
    source, target = dice.pick((("why", "pourquoi"), ("where", "où"), ("when", "quand"))[: 2 if now else 3])
    start = _ask(draft, source, target)
    said = clause(draft, subject, chosen.verb, how, thing(dice, draft, noun, "the", any_one=False))
    draft.link([said.en[0]], start.fr[1:])
    return write(draft, start.add(said), "?")


def _how_many(dice: Rng, draft: Draft) -> Pair:
    """ "How many apples did he buy?": the participle agrees with what stands before it."""
    chosen, noun, subject, how = _drawn(dice, draft)
    counted = noun_phrase(draft, noun, "how many", plural=True)
    said = clause(draft, subject, chosen.verb, how, before=counted)
    asks = _ask(draft, "", "")
    draft.link([said.en[0]], asks.fr)
    return write(draft, Phrase().add(counted).add(asks).add(said), "?")


def request(dice: Rng, draft: Draft) -> Pair:
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

"""Templates for questions and requests."""

from regard.data.synthetic.grammar import french
from regard.data.synthetic.grammar.clauses import BE, clause, copula
from regard.data.synthetic.grammar.lexicon import Action, Noun, nouns_of_class, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, NounPhrase, Phrase, noun_phrase, pronoun
from regard.data.synthetic.grammar.realization import Pair, realise
from regard.data.synthetic.grammar.subjects import person_phrase, sample_person_or_pronoun
from regard.data.synthetic.grammar.verb_groups import VerbForm, verb_group
from regard.data.synthetic.plausibility import plausible_adjectives, sample_noun_phrase
from regard.data.synthetic.rng import Rng
from regard.data.synthetic.templates.actions import as_single_event, sample_place_and_time, transitive_actions
from regard.data.synthetic.templates.copular_clauses import sample_degree, sample_noun_subject

_GO = verb("go", "aller")

# Verbs that are not used in requests, because "lose the key, please" is implausible.
_NOT_REQUESTED = {"break", "lose", "forget", "see", "hear", "find"}


def question(rng: Rng, draft: Draft) -> Pair:
    """Sample a question of one of several kinds."""
    return rng.choice((_yes_no, _yes_no, _is_it, _where_is, _who, _what, _adverb, _adverb, _how_many))(rng, draft)


def _question_start(draft: Draft, source: str, target: str) -> Phrase:
    """Return the start of a question: the question word in both languages, if given, and "est-ce que" in French."""
    start = draft.fixed_phrase(source, target, "adverb") if source else Phrase()
    return start.add(Phrase([], [Leaf("est-ce", "particle"), Leaf("que", "particle")]))


def _sample_question(rng: Rng, draft: Draft) -> tuple[Action, Noun, NounPhrase, VerbForm]:
    """Sample the action, the object, the subject and the verb form of a question. The subject is never "I"."""
    chosen = rng.choice(transitive_actions())
    noun = rng.choice(nouns_of_class(" ".join(chosen.objects)))
    form = as_single_event(chosen.verb, VerbForm(rng.choice(("past", "past", "present", "future")), interrogative=True))
    person = sample_person_or_pronoun(rng)
    while person.name == "I":
        person = sample_person_or_pronoun(rng)
    return chosen, noun, person_phrase(draft, person), form


def _yes_no(rng: Rng, draft: Draft) -> Pair:
    chosen, noun, subject, form = _sample_question(rng, draft)
    rest = sample_place_and_time(rng, draft, form, noun, where=0.2, when=0.2)
    start = _question_start(draft, "", "")
    sentence = clause(draft, subject, chosen.verb, form, sample_noun_phrase(rng, draft, noun, "any"), rest)
    draft.link([sentence.en[0]], start.fr)
    return realise(draft, start.add(sentence), "?")


def _is_it(rng: Rng, draft: Draft) -> Pair:
    past = rng.bernoulli(0.4)
    form = VerbForm("past" if past else "present", interrogative=True)
    if rng.bernoulli(0.5):
        noun = rng.choice(nouns_of_class(rng.choice(("animal", "vehicle", "building", "opinion"))))
        subject, adjective = sample_noun_subject(rng, draft, noun), rng.choice(plausible_adjectives(noun))
        start = _question_start(draft, "", "")
        sentence = copula(draft, subject, adjective, form, sample_degree(rng, adjective, form))
        draft.link([sentence.en[0]], start.fr)
        return realise(draft, start.add(sentence), "?")
    name = rng.choice(("you", "he", "she", "we", "they"))
    subject = pronoun(draft, name)
    adjective = rng.choice(plausible_adjectives(nouns_of_class("person")[0]))
    sentence = copula(draft, subject, adjective, form, sample_degree(rng, adjective, form))
    return realise(draft, _inverted(sentence), "?")


def _inverted(sentence: Phrase) -> Phrase:
    """Put the French subject after the verb: "vous êtes" becomes "êtes-vous", "elle va" becomes "va-t-elle"."""
    subject, finite, *rest = sentence.fr
    subject.text = ("-t-" if finite.text[-1] in "aec" else "-") + subject.text
    return Phrase(sentence.en, [finite, subject, *rest])


def _where_is(rng: Rng, draft: Draft) -> Pair:
    past = rng.bernoulli(0.25)
    start = draft.fixed_phrase("where", "où", "adverb")
    if rng.bernoulli(0.4):
        subject = pronoun(draft, rng.choice(("you", "he", "she", "we", "they")))
        form = VerbForm("past" if past else "present", progressive=True, interrogative=True)
        return realise(draft, start.add(_inverted(clause(draft, subject, _GO, form))), "?")
    noun = rng.choice(nouns_of_class("carried wearable animal vehicle"))
    subject = sample_noun_subject(rng, draft, noun)
    words = verb_group(BE, VerbForm("past" if past else "present"), subject.agreement)
    be = draft.fixed_phrase(words.en[0][0], words.fr[0][0], "verb")
    return realise(draft, start.add(be).add(subject), "?")


def _who(rng: Rng, draft: Draft) -> Pair:
    chosen = rng.choice(transitive_actions())
    noun = rng.choice(nouns_of_class(" ".join(chosen.objects)))
    who = draft.fixed_phrase("who", "qui", "pronoun")
    subject = NounPhrase(who.en, who.fr, who.en[0], who.fr[0])
    form = VerbForm(rng.choice(("past", "past", "present", "future")), modal="want" if rng.bernoulli(0.15) else "")
    form = form._replace(tense="present") if form.modal else as_single_event(chosen.verb, form)
    rest = sample_place_and_time(rng, draft, form, noun, where=0.2, when=0.2)
    object_phrase = sample_noun_phrase(rng, draft, noun, "the", allow_a=False)
    return realise(draft, clause(draft, subject, chosen.verb, form, object_phrase, rest), "?")


def _what(rng: Rng, draft: Draft) -> Pair:
    chosen, _, subject, form = _sample_question(rng, draft)
    what = Phrase([Leaf("what", "pronoun")], [Leaf("qu'est-ce", "pronoun"), Leaf("que", "pronoun")])
    draft.link(what.en, what.fr)
    what_object = NounPhrase(what.en, what.fr, what.en[0], what.fr[0])
    rest = sample_place_and_time(rng, draft, form, where=0.3, when=0.2)
    return realise(
        draft, what.add(clause(draft, subject, chosen.verb, form, None, rest, preceding_object=what_object)), "?"
    )


def _adverb(rng: Rng, draft: Draft) -> Pair:
    chosen, noun, subject, form = _sample_question(rng, draft)
    # "when" does not fit the present of a single event: "When is she opening the door?"
    present = form.tense == "present"
    source, target = rng.choice((("why", "pourquoi"), ("where", "où"), ("when", "quand"))[: 2 if present else 3])
    start = _question_start(draft, source, target)
    sentence = clause(draft, subject, chosen.verb, form, sample_noun_phrase(rng, draft, noun, "the", allow_a=False))
    draft.link([sentence.en[0]], start.fr[1:])
    return realise(draft, start.add(sentence), "?")


def _how_many(rng: Rng, draft: Draft) -> Pair:
    """Sample a question such as "How many apples did he buy?".

    The French participle agrees with the object, which precedes the verb.
    """
    chosen, noun, subject, form = _sample_question(rng, draft)
    counted = noun_phrase(draft, noun, "how many", plural=True)
    sentence = clause(draft, subject, chosen.verb, form, preceding_object=counted)
    est_ce_que = _question_start(draft, "", "")
    draft.link([sentence.en[0]], est_ce_que.fr)
    return realise(draft, Phrase().add(counted).add(est_ce_que).add(sentence), "?")


def request(rng: Rng, draft: Draft) -> Pair:
    """Sample a request such as "Open the window, please"."""
    chosen = rng.choice(transitive_actions())
    while chosen.verb.english in _NOT_REQUESTED:
        chosen = rng.choice(transitive_actions())
    noun = rng.choice(nouns_of_class(" ".join(chosen.objects)))
    negated = rng.bernoulli(0.25)
    source, target = Leaf(chosen.verb.english, "verb"), Leaf(french.conjugate(chosen.verb.french).present[3], "verb")
    draft.links.append((source, target))
    phrase = Phrase([source], [target])
    if negated:
        ne, pas = Leaf("ne", "particle"), Leaf("pas", "adverb")
        do, no = Leaf("do", "auxiliary"), Leaf("not", "particle")
        draft.link([no], [ne, pas])
        draft.links.append((do, target))
        phrase = Phrase([do, no, source], [ne, target, pas])
    phrase.add(sample_noun_phrase(rng, draft, noun, "the", negated=negated, allow_a=not negated))
    if rng.bernoulli(0.5):
        please = draft.fixed_phrase("please", "s'il vous plaît", "adverb")
        phrase.add(draft.fixed_phrase(",", ",", "punctuation")).add(please)
    return realise(draft, phrase)

"""Clauses in English and French: subject, verb and object, with tense, negation and agreement."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from regard.data.synthetic.grammar.lexicon import Adjective, Verb, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, NounPhrase, Phrase, VerbFacts
from regard.data.synthetic.grammar.verb_groups import VerbForm, verb_group

BE = verb("be", "être", state=True)

_DEGREES = {"too": "trop", "very": "très", "enough": "assez"}


def clause(
    draft: Draft,
    subject: NounPhrase,
    action: Verb,
    form: VerbForm,
    object_phrase: NounPhrase | None = None,
    rest: Sequence[Phrase] = (),
    *,
    instrument: NounPhrase | None = None,
    preceding_object: NounPhrase | None = None,
    clitic: str = "",
) -> Phrase:
    """Return a clause: the subject, the verb, the object, and then the phrases of `rest`.

    `instrument` is a noun phrase within `rest`. `preceding_object` is an object that precedes the French verb, such
    as "la lettre" in "la lettre qu'elle a écrite". The participle agrees with this object, but the words of the object
    are not added to the clause. `clitic` is a French object pronoun, such as "la" in "je l'ai perdue"; it is added.
    """
    group = verb_group(
        action, form, subject.agreement, preceding_object.agreement if preceding_object else None, clitic
    )
    en = [Leaf(text, kind) for text, kind in group.en]
    fr = [Leaf(text, kind) for text, kind in group.fr]
    draft.links += [(en[source], fr[target]) for source, target in group.links]
    any_object = object_phrase or preceding_object
    facts = VerbFacts(
        en[group.main],
        form.tense,
        group.target_tense,
        form.negation != "",
        subject.head,
        any_object.head if any_object else None,
        instrument.head if instrument else None,
    )
    draft.verbs.append(facts)
    draft.main = draft.main or facts
    # In an English question, the auxiliary precedes the subject, and the other words of the verb follow the subject.
    phrase = Phrase(en[:1] + subject.en + en[1:] if form.interrogative else subject.en + en, subject.fr + fr)
    if object_phrase is not None:
        phrase.add(object_phrase)
    for further in rest:
        phrase.add(further)
    return phrase


def predicate(draft: Draft, subject: NounPhrase, adjective: Adjective, degree: str = "") -> Phrase:
    """Return an adjective that agrees with the subject in French. `degree` adds "too", "very" or "enough"."""
    source = Leaf(adjective.english, "adjective")
    target = Leaf(adjective.fr(subject.gender, subject.plural), "adjective")
    draft.links.append((source, target))
    assert subject.head is not None
    draft.adjectives.append((source, subject.head))
    if not degree:
        return Phrase([source], [target])
    adverb, target_adverb = Leaf(degree, "adverb"), Leaf(_DEGREES[degree], "adverb")
    draft.links.append((adverb, target_adverb))
    return Phrase([source, adverb] if degree == "enough" else [adverb, source], [target_adverb, target])


def copula(
    draft: Draft,
    subject: NounPhrase,
    adjective: Adjective,
    form: VerbForm,
    degree: str = "",
    rest: Sequence[Phrase] = (),
) -> Phrase:
    """Return a clause with "be" and an adjective: "the house was too big"."""
    return clause(draft, subject, BE, form, rest=[predicate(draft, subject, adjective, degree), *rest])


def relative_object(
    draft: Draft, phrase: NounPhrase, subject: NounPhrase, action: Verb, form: VerbForm, rest: Sequence[Phrase] = ()
) -> NounPhrase:
    """Add a relative clause whose object is the noun: "the letter that she wrote", "la lettre qu'elle a écrite"."""
    main = draft.main
    that = draft.fixed_phrase("that", "que", "pronoun")
    inner = clause(draft, subject, action, form, rest=rest, preceding_object=phrase)
    draft.main = main
    return replace(phrase, en=phrase.en + that.en + inner.en, fr=phrase.fr + that.fr + inner.fr)


def relative_subject(draft: Draft, phrase: NounPhrase, build_clause: Callable[[NounPhrase], Phrase]) -> NounPhrase:
    """Add a relative clause whose subject is the noun: "the girl who sings", "la fille qui chante".

    `build_clause` receives the subject of the relative clause, "who", and returns the clause.
    """
    main = draft.main
    who = draft.fixed_phrase("who", "qui", "pronoun")
    subject = replace(phrase, en=who.en, fr=who.fr)
    inner = build_clause(subject)
    draft.main = main
    return replace(phrase, en=phrase.en + inner.en, fr=phrase.fr + inner.fr)

"""Clauses: a subject, what it does, to what; in both languages, with tense, negation and agreement."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from regard.data.synthetic.grammar.lexicon import Adjective, Verb, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, NounPhrase, Phrase, VerbFacts
from regard.data.synthetic.grammar.verb_groups import How, plan

BE = verb("be", "être", state=True)

_DEGREES = {"too": "trop", "very": "très", "enough": "assez"}


def clause(
    draft: Draft,
    subject: NounPhrase,
    action: Verb,
    how: How,
    about: NounPhrase | None = None,
    rest: Sequence[Phrase] = (),
    *,
    instrument: NounPhrase | None = None,
    before: NounPhrase | None = None,
    clitic: str = "",
) -> Phrase:
    """Subject, verb, object (`about`), and the rest in the order given.

    `before` is an object that stands before the French verb, as a relative or a `clitic` pronoun: the participle
    agrees with it.
    """
    words = plan(action, how, subject.who, before.who if before else None, clitic)
    en = [Leaf(text, kind) for text, kind in words.en]
    fr = [Leaf(text, kind) for text, kind in words.fr]
    draft.links += [(en[source], fr[target]) for source, target in words.links]
    thing = about or before
    facts = VerbFacts(
        en[words.main],
        how.tense,
        words.tense,
        how.denial != "",
        subject.head,
        thing.head if thing else None,
        instrument.head if instrument else None,
    )
    draft.verbs.append(facts)
    draft.main = draft.main or facts
    # A question begins with the auxiliary; whatever else there is stays behind the subject.
    phrase = Phrase(en[:1] + subject.en + en[1:] if how.asks else subject.en + en, subject.fr + fr)
    if about is not None:
        phrase.add(about)
    for other in rest:
        phrase.add(other)
    return phrase


def predicate(draft: Draft, subject: NounPhrase, adjective: Adjective, degree: str = "") -> Phrase:
    """An adjective said of the subject, perhaps "too", "very" or (after it) "enough"."""
    source = Leaf(adjective.english, "adjective")
    target = Leaf(adjective.fr(subject.gender, subject.plural), "adjective")
    draft.links.append((source, target))
    assert subject.head is not None
    draft.adjectives.append((source, subject.head))
    if not degree:
        return Phrase([source], [target])
    ours, theirs = Leaf(degree, "adverb"), Leaf(_DEGREES[degree], "adverb")
    draft.links.append((ours, theirs))
    return Phrase([source, ours] if degree == "enough" else [ours, source], [theirs, target])


def copula(
    draft: Draft, subject: NounPhrase, adjective: Adjective, how: How, degree: str = "", rest: Sequence[Phrase] = ()
) -> Phrase:
    """Something is such: "the house was too big"."""
    return clause(draft, subject, BE, how, rest=[predicate(draft, subject, adjective, degree), *rest])


def relative_object(
    draft: Draft, phrase: NounPhrase, subject: NounPhrase, action: Verb, how: How, rest: Sequence[Phrase] = ()
) -> NounPhrase:
    """ "the letter that she wrote", "la lettre qu'elle a écrite"."""
    main = draft.main
    that = draft.fixed("that", "que", "pronoun")
    inner = clause(draft, subject, action, how, rest=rest, before=phrase)
    draft.main = main
    return replace(phrase, en=phrase.en + that.en + inner.en, fr=phrase.fr + that.fr + inner.fr)


def relative_subject(draft: Draft, phrase: NounPhrase, makes: Callable[[NounPhrase], Phrase]) -> NounPhrase:
    """ "the girl who sings", "la fille qui chante": `makes` builds the clause from its subject."""
    main = draft.main
    who = draft.fixed("who", "qui", "pronoun")
    subject = replace(phrase, en=who.en, fr=who.fr)
    inner = makes(subject)
    draft.main = main
    return replace(phrase, en=phrase.en + inner.en, fr=phrase.fr + inner.fr)

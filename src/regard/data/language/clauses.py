"""Clauses: a subject, what it does, to what; in both languages, with tense, negation and agreement."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from regard.data.language import english, french
from regard.data.language.phrases import Draft, Leaf, Leaves, NounPhrase, Phrase, VerbFacts
from regard.data.language.words import Adjective, Verb, verb

BE = verb("be", "être", state=True)
_NEGATIONS = {"not": "pas", "never": "jamais", "no longer": "plus"}
FREQUENT = {"often": "souvent", "always": "toujours", "sometimes": "parfois"}
_MODALS = {"can": "pouvoir", "want": "vouloir", "must": "devoir"}
_REFLEXIVE = ("me", "se", "nous", "vous", "se")
_SHORT = {"can": "can't", "will": "won't"}
_TAIL_KINDS = {"afraid": "adjective", "peur": "noun"} | dict.fromkeys(
    ("more", "less", "plus", "moins", "cher"), "adverb"
)


class How(NamedTuple):
    """How a verb is said.

    `denial` is "", "not", "never" or "no longer"; `modal` is "", "can", "want" or "must"; a `habit` of the past is
    told in the imparfait; `short` says "didn't"; `asks` puts the English auxiliary before the subject; `perfect` is a
    past with "have"; `often` is one of FREQUENT.
    """

    tense: str = "present"
    denial: str = ""
    modal: str = ""
    progressive: bool = False
    habit: bool = False
    short: bool = False
    asks: bool = False
    perfect: bool = False
    often: str = ""


class _Group:
    """The words of a verb in one language, and which of them do what."""

    __slots__ = ("leaves", "roles")

    def __init__(self) -> None:
        self.leaves: Leaves = []
        self.roles: dict[str, Leaves] = {"aux": [], "deny": [], "often": [], "modal": [], "main": []}

    def say(self, text: str, role: str, kind: str = "verb") -> None:
        leaf = Leaf(text, kind)
        self.leaves.append(leaf)
        self.roles[role].append(leaf)


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
    en, fr = _english(subject, action, how), _french(subject, action, how, before, clitic)
    _link(draft, en, fr)
    tail = _tail(draft, en, fr, action, subject)
    # A question begins with the auxiliary; whatever else there is stays behind the subject.
    split = 1 if how.asks else 0
    phrase = Phrase(
        en.leaves[:split] + subject.en + en.leaves[split:] + tail.en,
        subject.fr + fr.leaves + tail.fr,
    )
    thing = about or before
    facts = VerbFacts(
        en.roles["main"][0],
        how.tense,
        target_tense(action, how),
        bool(how.denial),
        subject.head,
        thing.head if thing else None,
        instrument.head if instrument else None,
    )
    draft.verbs.append(facts)
    draft.main = draft.main or facts
    if about is not None:
        phrase.add(about)
    for other in rest:
        phrase.add(other)
    return phrase


def told(action: Verb, subject: NounPhrase, how: How) -> How:
    """The same, with one tense for what English does not tell apart: "I read the book", "they often cut ropes"."""
    plain = not (how.denial == "not" or how.asks or how.modal or how.progressive or how.perfect)
    if not plain or how.tense == "future" or (subject.person == 3 and not subject.plural):
        return how
    same = action.english != "be" and english.forms(action.english).past == action.english
    return how._replace(tense="present" if how.habit else "past") if same else how


def target_tense(action: Verb, how: How) -> str:
    """The French tense. What was happening, used to happen or simply was, is told in the imparfait."""
    if how.tense == "past":
        lasting = action.state or how.progressive or how.habit or how.modal
        return "imparfait" if lasting else "passé composé"
    return {"present": "présent", "future": "futur"}[how.tense]


def _english(subject: NounPhrase, action: Verb, how: How) -> _Group:
    group = _Group()
    finite, rest = _english_parts(subject, action, how)
    word, role = finite
    # Only auxiliaries, "be" and modals can carry "not"; other verbs need "do".
    kind = "verb" if role == "main" else "auxiliary"
    before = how.denial in ("never", "no longer") and role == "main" and action.english != "be"
    if before:
        _deny(group, how.denial)
    if how.often:
        group.say(how.often, "often", "adverb")
    if how.denial == "not" and how.short and word != "am":
        group.say(_SHORT.get(word, word + "n't"), role, kind)
        if group.leaves[-1] not in group.roles["deny"]:
            group.roles["deny"].append(group.leaves[-1])
    else:
        group.say(word, role, kind)
        if how.denial and not before:
            _deny(group, how.denial)
    for word, role in rest:
        group.say(word, role, "verb" if role == "main" else "auxiliary")
    return group


def _deny(group: _Group, denial: str) -> None:
    for word in denial.split():
        group.say(word, "deny", "particle" if denial == "not" else "adverb")


def _english_parts(subject: NounPhrase, action: Verb, how: How) -> tuple[tuple[str, str], list[tuple[str, str]]]:
    """The finite word and what follows it, each with its role."""
    base = action.english
    past = how.tense == "past"
    if how.modal in ("can", "must"):
        return ({"can": "could" if past else "can", "must": "must"}[how.modal], "modal"), [(base, "main")]
    if how.tense == "future":
        return ("will", "aux"), [(base, "main")]
    be = english.be(subject.person, subject.plural, how.tense)
    if base == "be" and not how.modal:
        return (be, "main"), []
    forms = english.forms(base)
    third = subject.person == 3 and not subject.plural
    if how.progressive:
        return (be, "aux"), [(forms.ing, "main")]
    if how.perfect:
        return ("has" if third else "have", "aux"), [(forms.participle, "main")]
    following = [("to", "modal"), (base, "main")] if how.modal else []
    role = "main"
    if how.modal:
        forms, role = english.forms(how.modal), "modal"
    if how.denial == "not" or how.asks:
        do = "did" if past else "does" if third else "do"
        return (do, "aux"), [(forms.base, role), *following]
    return (forms.past if past else forms.third if third else forms.base, role), following


def _french(subject: NounPhrase, action: Verb, how: How, before: NounPhrase | None, clitic: str) -> _Group:
    group = _Group()
    person = subject.index
    tense = target_tense(action, how)
    forms = french.conjugate(action.french)
    if how.denial:
        group.say("ne", "deny", "particle")
    # With a modal, "se" and "le" go with the infinitive: "il ne veut pas s'asseoir".
    if not how.modal:
        _clitics(group, action, person, clitic)
    if how.modal:
        group.say(_finite(_MODALS[how.modal], tense, person), "modal")
    elif tense == "passé composé":
        etre = forms.with_etre or action.reflexive
        group.say(_finite("être" if etre else "avoir", "présent", person), "aux", "auxiliary")
    else:
        group.say(_finite(action.french, tense, person), "main")
    if how.denial:
        group.say(_NEGATIONS[how.denial], "deny", "adverb")
    if how.often:
        group.say(FREQUENT[how.often], "often", "adverb")
    if how.modal:
        _clitics(group, action, person, clitic)
        group.say(action.french, "main")
    elif tense == "passé composé":
        governor = subject if forms.with_etre or action.reflexive else before
        agreeing = french.agree(forms.participle, governor.gender, governor.plural) if governor else forms.participle
        group.say(agreeing, "main")
    return group


def _clitics(group: _Group, action: Verb, person: int, clitic: str) -> None:
    if action.reflexive:
        group.say(_REFLEXIVE[person], "main", "pronoun")
    if clitic:
        group.leaves.append(Leaf(clitic, "pronoun"))


def _finite(infinitive: str, tense: str, person: int) -> str:
    forms = french.conjugate(infinitive)
    return {"présent": forms.present, "imparfait": forms.imparfait, "futur": forms.future}[tense][person]


def _link(draft: Draft, en: _Group, fr: _Group) -> None:
    """Each role with its like; an auxiliary that only one language has, with the other's verb."""
    for role in ("deny", "often", "modal", "main"):
        draft.link(en.roles[role], fr.roles[role])
    draft.link(en.roles["aux"], fr.roles["aux"] or fr.roles["modal"] or fr.roles["main"])
    if not en.roles["aux"]:
        draft.link(en.roles["main"], fr.roles["aux"])


def _tail(draft: Draft, en: _Group, fr: _Group, action: Verb, subject: NounPhrase) -> Phrase:
    """What stands fast after the verb: prepositions, which are last, and participles, which agree."""
    ours = [Leaf(word, _tail_kind(word, "verb")) for word in action.english_tail]
    theirs = []
    for word in action.french_tail:
        if word.endswith("*"):
            theirs.append(Leaf(french.agree(word[:-1], subject.gender, subject.plural), "verb"))
        else:
            theirs.append(Leaf(word, _tail_kind(word, "preposition")))
    if ours and theirs:
        draft.links.append((ours[-1], theirs[-1]))
        draft.link(ours[:-1] or en.roles["main"], theirs[:-1])
        if not theirs[:-1]:
            draft.link(ours[:-1], fr.roles["main"])
    else:
        draft.link(ours, fr.roles["main"])
        draft.link(en.roles["main"], theirs)
    return Phrase(ours, theirs)


def _tail_kind(word: str, default: str) -> str:
    if default == "verb" and not word.endswith(("ed", "en")):
        default = "preposition"
    return _TAIL_KINDS.get(word, default)


def predicate(draft: Draft, subject: NounPhrase, adjective: Adjective, degree: str = "") -> Phrase:
    """An adjective said of the subject, perhaps "too", "very" or (after it) "enough"."""
    source = Leaf(adjective.english, "adjective")
    target = Leaf(adjective.fr(subject.gender, subject.plural), "adjective")
    draft.links.append((source, target))
    assert subject.head is not None
    draft.adjectives.append((source, subject.head))
    if not degree:
        return Phrase([source], [target])
    ours, theirs = Leaf(degree, "adverb"), Leaf({"too": "trop", "very": "très", "enough": "assez"}[degree], "adverb")
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

"""The words of a verb in both languages, for every tense, denial, modal and subject; and which translate which.

A plan depends on little, so it is made once and used for every sentence that needs it.
"""

from functools import lru_cache
from typing import NamedTuple

from regard.data.synthetic.grammar import english, french
from regard.data.synthetic.grammar.lexicon import Verb

FREQUENT = {"often": "souvent", "always": "toujours", "sometimes": "parfois"}

_NEGATIONS = {"not": "pas", "never": "jamais", "no longer": "plus"}

_MODALS = {"can": "pouvoir", "want": "vouloir", "must": "devoir"}

_REFLEXIVE = ("me", "se", "nous", "vous", "se")

_SHORT = {"can": "can't", "will": "won't"}

# The words that can stand fast after a verb. All others there are participles.
_KINDS = {
    "adjective": "afraid cold hot hungry right sleepy thirsty wrong",
    "noun": "bruit chaud faim froid noise peur raison soif sommeil tort",
    "adverb": "back cher less moins more out plus up",
    "preposition": "at behind by for from in of on over than to dans de derrière par par-dessus que sur à",
}

_KIND = {word: kind for kind, words in _KINDS.items() for word in words.split()}


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


class Who(NamedTuple):
    """What a verb must know of a noun: its person, number and gender."""

    person: int
    plural: bool
    gender: str

    @property
    def form(self) -> int:
        """Which of the five persons French conjugates."""
        if self.person == 3:
            return 4 if self.plural else 1
        return 3 if self.person == 2 else 2 if self.plural else 0


class Plan(NamedTuple):
    """Words with their kinds, English and French; pairs of places that belong together; where the English verb is."""

    en: tuple[tuple[str, str], ...]
    fr: tuple[tuple[str, str], ...]
    links: tuple[tuple[int, int], ...]
    main: int
    tense: str


class _Group:
    """The words of a verb in one language, and which of them do what."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str]] = []
        self.roles: dict[str, list[int]] = {
            role: [] for role in ("aux", "deny", "often", "modal", "main", "fixed", "last")
        }

    def say(self, text: str, role: str, kind: str = "verb") -> None:
        self.roles[role].append(len(self.words))
        self.words.append((text, kind))


@lru_cache(maxsize=1 << 16)
def plan(action: Verb, how: How, who: Who, before: Who | None = None, clitic: str = "") -> Plan:
    """What to say of `who`. With an object `before` the French verb, its participle agrees with that."""
    en, fr = _english(who, action, how), _french(who, action, how, before, clitic)
    for group, words in ((en, action.english_tail), (fr, action.french_tail)):
        for place, word in enumerate(words):
            said = french.agree(word[:-1], who.gender, who.plural) if word.endswith("*") else word
            group.say(said, "last" if place == len(words) - 1 else "fixed", _KIND.get(word, "verb"))
    return Plan(tuple(en.words), tuple(fr.words), tuple(_links(en, fr)), en.roles["main"][0], target_tense(action, how))


def _links(en: _Group, fr: _Group) -> list[tuple[int, int]]:
    """Each role with its like; what only one language has, with the other's verb."""
    found = []
    for role in en.roles:
        ours, theirs = en.roles[role], fr.roles[role]
        if not (ours and theirs):
            # "did cross": "a traversé"; "could be": "pouvait être"
            ours, theirs = ours or (en.roles["main"] if theirs else []), theirs or fr.roles["main"]
        found += [(one, other) for one in ours for other in theirs]
    return found


def told(action: Verb, who: Who, how: How) -> How:
    """The same, with one tense for what English does not tell apart: "I read the book", "they often cut ropes"."""
    plain = not (how.denial == "not" or how.asks or how.modal or how.progressive or how.perfect)
    if not plain or how.tense == "future" or (who.person == 3 and not who.plural):
        return how
    same = action.english != "be" and english.forms(action.english).past == action.english
    return how._replace(tense="present" if how.habit else "past") if same else how


def target_tense(action: Verb, how: How) -> str:
    """The French tense. What was happening, used to happen or simply was, is told in the imparfait."""
    if how.tense == "past":
        lasting = action.state or how.progressive or how.habit or how.modal
        return "imparfait" if lasting else "passé composé"
    return {"present": "présent", "future": "futur"}[how.tense]


def _english(who: Who, action: Verb, how: How) -> _Group:
    group = _Group()
    (word, role), rest = _english_parts(who, action, how)
    # Only auxiliaries, "be" and modals can carry "not"; other verbs need "do".
    kind = "verb" if role == "main" else "auxiliary"
    before = how.denial in ("never", "no longer") and role == "main" and action.english != "be"
    if before:
        _deny(group, how.denial)
    if how.often:
        group.say(how.often, "often", "adverb")
    joined = _joined(word, how.short) if how.denial == "not" else ""
    if joined:
        group.say(joined, role, kind)
        group.roles["deny"].append(len(group.words) - 1)
    else:
        group.say(word, role, kind)
        if how.denial and not before:
            _deny(group, how.denial)
    for word, role in rest:
        group.say(word, role, "verb" if role == "main" else "auxiliary")
    return group


def _joined(word: str, short: bool) -> str:
    """ "didn't", "cannot"; "" where "not" is a word of its own."""
    if short and word != "am":
        return _SHORT.get(word, word + "n't")
    return "cannot" if word == "can" else ""


def _deny(group: _Group, denial: str) -> None:
    for word in denial.split():
        group.say(word, "deny", "particle" if denial == "not" else "adverb")


def _english_parts(who: Who, action: Verb, how: How) -> tuple[tuple[str, str], list[tuple[str, str]]]:
    """The finite word and what follows it, each with its role."""
    base = action.english
    past = how.tense == "past"
    if how.modal in ("can", "must"):
        return ({"can": "could" if past else "can", "must": "must"}[how.modal], "modal"), [(base, "main")]
    if how.tense == "future":
        return ("will", "aux"), [(base, "main")]
    be = english.be(who.person, who.plural, how.tense)
    if base == "be" and not how.modal:
        return (be, "main"), []
    forms = english.forms(base)
    third = who.person == 3 and not who.plural
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


def _french(who: Who, action: Verb, how: How, before: Who | None, clitic: str) -> _Group:
    group = _Group()
    tense = target_tense(action, how)
    forms = french.conjugate(action.french)
    with_etre = forms.with_etre or action.reflexive
    if how.denial:
        group.say("ne", "deny", "particle")
    # With a modal, "se" and "le" go with the infinitive: "il ne veut pas s'asseoir".
    if how.modal:
        group.say(_finite(_MODALS[how.modal], tense, who), "modal")
    else:
        _clitics(group, action, who, clitic)
        if tense == "passé composé":
            group.say(_finite("être" if with_etre else "avoir", "présent", who), "aux", "auxiliary")
        else:
            group.say(_finite(action.french, tense, who), "main")
    if how.denial:
        group.say(_NEGATIONS[how.denial], "deny", "adverb")
    if how.often:
        group.say(FREQUENT[how.often], "often", "adverb")
    if how.modal:
        _clitics(group, action, who, clitic)
        group.say(action.french, "main")
    elif tense == "passé composé":
        governor = who if with_etre else before
        agreeing = french.agree(forms.participle, governor.gender, governor.plural) if governor else forms.participle
        group.say(agreeing, "main")
    return group


def _clitics(group: _Group, action: Verb, who: Who, clitic: str) -> None:
    if action.reflexive:
        group.say(_REFLEXIVE[who.form], "main", "pronoun")
    if clitic:
        group.words.append((clitic, "pronoun"))


def _finite(infinitive: str, tense: str, who: Who) -> str:
    forms = french.conjugate(infinitive)
    return {"présent": forms.present, "imparfait": forms.imparfait, "futur": forms.future}[tense][who.form]

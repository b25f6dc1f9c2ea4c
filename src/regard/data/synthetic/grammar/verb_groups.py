"""Verb groups: all words of a verb in English and French, such as "did not want to go", and their alignment.

The same verb groups occur in many sentences, so they are cached.
"""

from functools import lru_cache
from typing import NamedTuple

from regard.data.synthetic.grammar import english, french
from regard.data.synthetic.grammar.lexicon import Verb

FREQUENCY_ADVERBS = {"often": "souvent", "always": "toujours", "sometimes": "parfois"}

_NEGATIONS = {"not": "pas", "never": "jamais", "no longer": "plus"}

_MODALS = {"can": "pouvoir", "want": "vouloir", "must": "devoir"}

_REFLEXIVE = ("me", "se", "nous", "vous", "se")

_CONTRACTIONS = {"can": "can't", "will": "won't"}

# The word classes of the words in the tails of verbs (see `Verb`). Words that are not listed are participles; their
# class is "verb".
_TAIL_WORD_KINDS = {
    "adjective": "afraid cold hot hungry right sleepy thirsty wrong",
    "noun": "bruit chaud faim froid noise peur raison soif sommeil tort",
    "adverb": "back cher less moins more out plus up",
    "preposition": "at behind by for from in of on over than to dans de derrière par par-dessus que sur à",
}

_TAIL_WORD_KIND = {word: kind for kind, words in _TAIL_WORD_KINDS.items() for word in words.split()}


class VerbForm(NamedTuple):
    """The grammatical form of a verb.

    `negation` is "", "not", "never" or "no longer". `modal` is "", "can", "want" or "must". `frequency` is "" or one of
    FREQUENCY_ADVERBS. `habitual` means a habit; in the past, French then uses the imparfait. `contracted` means
    "didn't" instead of "did not". `interrogative` puts the English auxiliary before the subject. `perfect` means a past
    with "have", such as "has eaten".
    """

    tense: str = "present"
    negation: str = ""
    modal: str = ""
    progressive: bool = False
    habitual: bool = False
    contracted: bool = False
    interrogative: bool = False
    perfect: bool = False
    frequency: str = ""


class Agreement(NamedTuple):
    """The person, number and gender that a verb agrees with."""

    person: int
    plural: bool
    gender: str

    @property
    def person_index(self) -> int:
        """The index in `french.PERSONS` of the French form for this person and number."""
        if self.person == 3:
            return 4 if self.plural else 1
        return 3 if self.person == 2 else 2 if self.plural else 0


class VerbGroup(NamedTuple):
    """The words of a verb in both languages with their word classes, and the alignment links between the words.

    `main` is the position of the main verb among the English words, and `target_tense` is the French tense.
    """

    en: tuple[tuple[str, str], ...]
    fr: tuple[tuple[str, str], ...]
    links: tuple[tuple[int, int], ...]
    main: int
    target_tense: str


class _GroupBuilder:
    """The words of a verb group in one language, and the positions of the words that have each role, such as "aux"."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str]] = []
        self.roles: dict[str, list[int]] = {
            role: [] for role in ("aux", "negation", "frequency", "modal", "main", "fixed", "last")
        }

    def add(self, text: str, role: str, kind: str = "verb") -> None:
        self.roles[role].append(len(self.words))
        self.words.append((text, kind))


@lru_cache(maxsize=1 << 16)
def verb_group(
    action: Verb, form: VerbForm, agreement: Agreement, preceding_object: Agreement | None = None, clitic: str = ""
) -> VerbGroup:
    """Return the verb group of a verb in the given form. `agreement` describes the subject.

    A French participle with avoir agrees with `preceding_object`, if there is one. `clitic` is a French object pronoun.
    """
    en, fr = _english(agreement, action, form), _french(agreement, action, form, preceding_object, clitic)
    for group, words in ((en, action.english_tail), (fr, action.french_tail)):
        for position, word in enumerate(words):
            text = french.agree(word[:-1], agreement.gender, agreement.plural) if word.endswith("*") else word
            group.add(text, "last" if position == len(words) - 1 else "fixed", _TAIL_WORD_KIND.get(word, "verb"))
    return VerbGroup(
        tuple(en.words), tuple(fr.words), tuple(_links(en, fr)), en.roles["main"][0], target_tense(action, form)
    )


def _links(en: _GroupBuilder, fr: _GroupBuilder) -> list[tuple[int, int]]:
    """Align the English and the French words of the same role.

    If only one language has words of a role, they are aligned with the main verb of the other language.
    """
    links = []
    for role in en.roles:
        sources, targets = en.roles[role], fr.roles[role]
        if not (sources and targets):
            # French has no word for "will", so "will" is aligned with "traversera". English has no word for the "a" of
            # "a traversé", so "a" is aligned with "crossed".
            sources, targets = sources or (en.roles["main"] if targets else []), targets or fr.roles["main"]
        links += [(source, target) for source in sources for target in targets]
    return links


def resolve_tense(action: Verb, agreement: Agreement, form: VerbForm) -> VerbForm:
    """Change the tense if the present and the past are spelled alike in English: "I read the book", "they cut ropes".

    Such a form is put in the present if it is habitual, and in the past otherwise.
    """
    simple = not (form.negation == "not" or form.interrogative or form.modal or form.progressive or form.perfect)
    if not simple or form.tense == "future" or (agreement.person == 3 and not agreement.plural):
        return form
    ambiguous = action.english != "be" and english.forms(action.english).past == action.english
    return form._replace(tense="present" if form.habitual else "past") if ambiguous else form


def target_tense(action: Verb, form: VerbForm) -> str:
    """Return the French tense. States, habits, ongoing actions and modal verbs of the past are in the imparfait."""
    if form.tense == "past":
        lasting = action.state or form.progressive or form.habitual or form.modal
        return "imparfait" if lasting else "passé composé"
    return {"present": "présent", "future": "futur"}[form.tense]


def _english(agreement: Agreement, action: Verb, form: VerbForm) -> _GroupBuilder:
    group = _GroupBuilder()
    (word, role), rest = _finite_and_rest(agreement, action, form)
    kind = "verb" if role == "main" else "auxiliary"
    # "never" and "no longer" precede a main verb ("never eats"), but follow "be" and auxiliaries ("will never eat").
    adverb_first = form.negation in ("never", "no longer") and role == "main" and action.english != "be"
    if adverb_first:
        _add_negation(group, form.negation)
    if form.frequency:
        group.add(form.frequency, "frequency", "adverb")
    negated_word = _with_not(word, form.contracted) if form.negation == "not" else ""
    if negated_word:
        group.add(negated_word, role, kind)
        group.roles["negation"].append(len(group.words) - 1)
    else:
        group.add(word, role, kind)
        if form.negation and not adverb_first:
            _add_negation(group, form.negation)
    for word, role in rest:
        group.add(word, role, "verb" if role == "main" else "auxiliary")
    return group


def _with_not(word: str, contracted: bool) -> str:
    """Return the word joined with "not", such as "didn't" or "cannot"; "" if "not" stays a separate word."""
    if contracted and word != "am":
        return _CONTRACTIONS.get(word, word + "n't")
    return "cannot" if word == "can" else ""


def _add_negation(group: _GroupBuilder, negation: str) -> None:
    for word in negation.split():
        group.add(word, "negation", "particle" if negation == "not" else "adverb")


def _finite_and_rest(
    agreement: Agreement, action: Verb, form: VerbForm
) -> tuple[tuple[str, str], list[tuple[str, str]]]:
    """Return the finite English verb ("did") and the words after it ("want to go"), each with its role."""
    base = action.english
    past = form.tense == "past"
    if form.modal in ("can", "must"):
        return ({"can": "could" if past else "can", "must": "must"}[form.modal], "modal"), [(base, "main")]
    if form.tense == "future":
        return ("will", "aux"), [(base, "main")]
    be = english.be(agreement.person, agreement.plural, form.tense)
    if base == "be" and not form.modal:
        return (be, "main"), []
    forms = english.forms(base)
    third = agreement.person == 3 and not agreement.plural
    if form.progressive:
        return (be, "aux"), [(forms.ing, "main")]
    if form.perfect:
        return ("has" if third else "have", "aux"), [(forms.participle, "main")]
    following = [("to", "modal"), (base, "main")] if form.modal else []
    role = "main"
    if form.modal:
        forms, role = english.forms(form.modal), "modal"
    if form.negation == "not" or form.interrogative:
        do = "did" if past else "does" if third else "do"
        return (do, "aux"), [(forms.base, role), *following]
    return (forms.past if past else forms.third if third else forms.base, role), following


def _french(
    agreement: Agreement, action: Verb, form: VerbForm, preceding_object: Agreement | None, clitic: str
) -> _GroupBuilder:
    group = _GroupBuilder()
    tense = target_tense(action, form)
    forms = french.conjugate(action.french)
    with_etre = forms.with_etre or action.reflexive
    if form.negation:
        group.add("ne", "negation", "particle")
    # With a modal verb, pronouns such as "se" and "le" precede the infinitive: "il ne veut pas s'asseoir".
    if form.modal:
        group.add(_finite(_MODALS[form.modal], tense, agreement), "modal")
    else:
        _add_clitics(group, action, agreement, clitic)
        if tense == "passé composé":
            group.add(_finite("être" if with_etre else "avoir", "présent", agreement), "aux", "auxiliary")
        else:
            group.add(_finite(action.french, tense, agreement), "main")
    if form.negation:
        group.add(_NEGATIONS[form.negation], "negation", "adverb")
    if form.frequency:
        group.add(FREQUENCY_ADVERBS[form.frequency], "frequency", "adverb")
    if form.modal:
        _add_clitics(group, action, agreement, clitic)
        group.add(action.french, "main")
    elif tense == "passé composé":
        governor = agreement if with_etre else preceding_object
        agreeing = french.agree(forms.participle, governor.gender, governor.plural) if governor else forms.participle
        group.add(agreeing, "main")
    return group


def _add_clitics(group: _GroupBuilder, action: Verb, agreement: Agreement, clitic: str) -> None:
    if action.reflexive:
        group.add(_REFLEXIVE[agreement.person_index], "main", "pronoun")
    if clitic:
        group.words.append((clitic, "pronoun"))


def _finite(infinitive: str, tense: str, agreement: Agreement) -> str:
    forms = french.conjugate(infinitive)
    return {"présent": forms.present, "imparfait": forms.imparfait, "futur": forms.future}[tense][
        agreement.person_index
    ]

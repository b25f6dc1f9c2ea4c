"""French forms equal forms written by hand, and all of them are in the dictionary of hunspell."""

import shutil
import subprocess

import pytest

from regard.data.synthetic.grammar import french
from regard.data.synthetic.grammar.lexicon import actions, adjectives, nouns
from regard.data.synthetic.grammar.subjects import NAMES
from regard.data.synthetic.templates import copular_clauses
from regard.data.synthetic.word_lists import rows


@pytest.mark.parametrize(
    ("infinitive", "present", "imparfait", "future", "participle"),
    [
        ("être", "suis est sommes êtes sont", "étais était étions étiez étaient", "serai sera", "été"),
        ("avoir", "ai a avons avez ont", "avais avait avions aviez avaient", "aurai aura", "eu"),
        ("aller", "vais va allons allez vont", "allais allait allions alliez allaient", "irai ira", "allé"),
        ("porter", "porte porte portons portez portent", "portais portait", "porterai portera", "porté"),
        ("manger", "mange mange mangeons mangez mangent", "mangeais mangeait mangions", "mangerai", "mangé"),
        ("déplacer", "déplace déplace déplaçons", "déplaçais déplaçait déplacions déplaciez", "déplacerai", "déplacé"),
        ("acheter", "achète achète achetons achetez achètent", "achetais achetait", "achèterai", "acheté"),
        ("préférer", "préfère préfère préférons préférez préfèrent", "préférais", "préférerai", "préféré"),
        ("nettoyer", "nettoie nettoie nettoyons nettoyez nettoient", "nettoyais", "nettoierai", "nettoyé"),
        ("envoyer", "envoie envoie envoyons envoyez envoient", "envoyais", "enverrai enverra", "envoyé"),
        ("choisir", "choisis choisit choisissons choisissez choisissent", "choisissais", "choisirai", "choisi"),
        ("photographier", "photographie", "photographiais photographiait photographiions", "photographierai", ""),
        ("asseoir", "assieds assied asseyons asseyez asseyent", "asseyais", "assiérai", "assis"),
        ("contenir", "contiens contient contenons", "contenais", "contiendrai", "contenu"),
        ("boire", "bois boit buvons buvez boivent", "buvais buvait", "boirai", "bu"),
    ],
)
def test_conjugations(infinitive, present, imparfait, future, participle):
    found = french.conjugate(infinitive)
    for forms, expected in ((found.present, present), (found.imparfait, imparfait), (found.future, future)):
        assert " ".join(forms).startswith(expected)
    assert found.participle.startswith(participle)


def test_an_irregular_verb_without_listed_forms_is_refused():
    with pytest.raises(ValueError, match=r"moudre is not regular: list its forms in irregular_french_verbs\.tsv"):
        french.conjugate("moudre")


@pytest.mark.parametrize(
    ("word", "following", "expected"),
    [
        ("le", "arbre", "l'"),
        ("la", "étagère", "l'"),
        ("le", "hôtel", "l'"),
        ("le", "homme", "l'"),
        ("le", "œuf", "l'"),
        ("la", "haie", None),
        ("la", "hache", None),
        ("le", "hérisson", None),
        ("le", "hamac", None),
        ("le", "hangar", None),
        ("la", "harpe", None),
        ("le", "haut-parleur", None),
        ("que", "elle", "qu'"),
        ("que", "Anne", "qu'"),
        ("que", "Marie", None),
        ("puisque", "il", "puisqu'"),
        ("ne", "y", "n'"),
        ("je", "adore", "j'"),
        ("si", "il", "s'"),
        ("si", "ils", "s'"),
        ("si", "elle", None),
        ("ma", "assiette", "mon"),
        ("sa", "valise", None),
        ("ce", "étang", "cet"),
        ("de", "onze", None),
        ("les", "arbres", None),
    ],
)
def test_elision_before_a_word(word, following, expected):
    assert french.elide(word, following) == expected


@pytest.mark.parametrize(
    ("english", "forms"),
    [
        ("beautiful", "beau belle beaux belles"),
        ("old", "vieux vieille vieux vieilles"),
        ("new", "neuf neuve neufs neuves"),
        ("long", "long longue longs longues"),
        ("light", "léger légère légers légères"),
        ("fat", "gros grosse gros grosses"),
        ("fresh", "frais fraîche frais fraîches"),
        ("dry", "sec sèche secs sèches"),
        ("gentle", "doux douce doux douces"),
        ("blue", "bleu bleue bleus bleues"),
        ("white", "blanc blanche blancs blanches"),
        ("aggressive", "agressif agressive agressifs agressives"),
        ("happy", "heureux heureuse heureux heureuses"),
        ("good", "bon bonne bons bonnes"),
        ("wide", "large large larges larges"),
        ("thick", "épais épaisse épais épaisses"),
    ],
)
def test_forms_of_adjectives(english, forms):
    found = adjectives()[english]
    order = [("m", False), ("f", False), ("m", True), ("f", True)]
    assert " ".join(found.fr(gender, plural) for gender, plural in order) == forms


@pytest.mark.parametrize(
    ("english", "plural"),
    [("horse", "chevaux"), ("castle", "châteaux"), ("fire", "feux"), ("mat", "tapis"), ("hospital", "hôpitaux")],
)
def test_plurals(english, plural):
    assert nouns()[english].french_plural == plural


@pytest.mark.parametrize(
    ("gender", "several", "expected"),
    [("m", False, "assis"), ("f", False, "assise"), ("m", True, "assis"), ("f", True, "assises")],
)
def test_participles_agree(gender, several, expected):
    assert french.agree("assis", gender, several) == expected


def every_form() -> set[str]:
    """Return every French form of the word lists."""
    found = {form for noun in nouns().values() for form in (noun.french, noun.french_plural)}
    for adjective in adjectives().values():
        found |= {*adjective.forms.values(), adjective.before_vowel} - {""}
    for _, masculine, feminine in copular_clauses.PROFESSIONS:
        found |= {masculine, feminine, masculine + "s", feminine + "s"}
    verbs = {action.verb.french for action in actions()} | {
        row["infinitive"] for row in rows("irregular_french_verbs.tsv")
    }
    for infinitive in verbs:
        forms = french.conjugate(infinitive)
        found |= {infinitive, forms.participle, *forms.present, *forms.imparfait, *forms.future}
    return found


def test_hunspell_knows_every_form(sample):
    if shutil.which("hunspell") is None:
        pytest.skip("hunspell is not installed (Debian: apt-get install hunspell hunspell-fr)")
    check = ["hunspell", "-d", "fr", "-i", "utf-8", "-l"]
    if "chevals" not in subprocess.run(check, input="chevals", capture_output=True, text=True, check=False).stdout:
        pytest.skip("hunspell has no French dictionary (Debian: apt-get install hunspell-fr)")
    words = {
        word.text for pair in sample for word in pair.annotations.target if word.kind not in ("punctuation", "name")
    }
    forms = every_form() | {word.rstrip("'").lstrip("-").removeprefix("t-") for word in words}
    found = subprocess.run(check, input="\n".join(sorted(forms)), capture_output=True, text=True, check=True).stdout
    assert set(found.split()) - set(NAMES) == set()
    assert len(forms) > 2_000

"""What a reader would strike out: every error ever found in a generated sentence has its test here."""

import re

import pytest

from regard.data.language import english, sentences
from regard.data.language.clauses import clause, copula, relative_object
from regard.data.language.phrases import Draft, Phrase, noun_phrase, owned, place, pronoun
from regard.data.language.verbs import How, told
from regard.data.language.words import Verb, adjectives, nouns, verb
from regard.data.language.writing import write

FRENCH_VOWEL = "aeiouyàâéèêëîïôœùû"


def test_every_kind_occurs(sample):
    kinds = {kind.__name__ for kind in sentences._WEIGHTS} | {"it"}
    assert {pair.truth.kind for pair in sample} == kinds


def test_nothing_stands_unelided_or_uncontracted(sample):
    wrong = re.compile(rf"\b(le|la|de|que|ne|je|se|ma|sa|ce|puisque|me) [{FRENCH_VOWEL}]", re.IGNORECASE)
    apart = re.compile(r"\b(de les|à les|de le|à le) \w", re.IGNORECASE)
    for pair in sample:
        assert not wrong.search(pair.target), pair
        assert not apart.search(pair.target), pair
        assert " si il" not in pair.target


def test_nothing_is_elided_before_what_is_aspirated(sample):
    aspirated = re.compile(r"'(hache|haie|hamac|hamster|hangar|harp|haut|hériss)")
    assert [pair.target for pair in sample if aspirated.search(pair.target)] == []


def test_spaces_and_stops(sample):
    for pair in sample:
        for text in (pair.source, pair.target):
            assert text == text.strip() and "  " not in text and text[0].isupper()
            assert text[-1] in ".?"
            assert not re.search(r"' | [.,]|[.,]\w", text), text
        assert pair.target.endswith(" ?") == pair.source.endswith("?")


def test_a_stands_before_one_thing_alone(sample):
    """Found: "chose a drums"."""
    several = {noun.english_plural for noun in nouns().values()} - {noun.english for noun in nouns().values()}
    for pair in sample:
        words = [word.text.lower() for word in pair.truth.source]
        kinds = [word.kind for word in pair.truth.source]
        for place_, word in enumerate(words):
            if word in ("a", "an"):
                noun = next(words[later] for later in range(place_, len(words)) if kinds[later] == "noun")
                assert noun not in several, pair


def test_an_goes_before_vowels(sample):
    for pair in sample:
        assert not re.search(r"\b(a [aeio]|an [^aeiouh])", pair.source), pair


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("bring", "brings brought brought bringing"),  # found: "bringed"
        ("prefer", "prefers preferred preferred preferring"),  # found: "prefered"
        ("show", "shows showed shown showing"),  # found: "has showed"
        ("lend", "lends lent lent lending"),
        ("carry", "carries carried carried carrying"),
        ("stop", "stops stopped stopped stopping"),
        ("watch", "watches watched watched watching"),
        ("go", "goes went gone going"),
        ("write", "writes wrote written writing"),
        ("see", "sees saw seen seeing"),
    ],
)
def test_english_verbs(base, forms):
    assert " ".join(english.forms(base)[1:]) == forms


def test_nobody_meets_an_aunt_of_nobody(sample):
    """Found: "there is a sister in front of the villa"."""
    kin = "|".join(noun.english for noun in nouns().values() if "kin" in noun.classes)
    assert [pair.source for pair in sample if re.search(rf"\b(a|an|the|two|some) ({kin})\b", pair.source)] == []


def test_names_with_h_are_avoided(sample):
    """Found: "qu'Hugo", which some write "que Hugo"."""
    assert [pair.target for pair in sample if re.search(r"\bH[a-z]", pair.target) and " H" in pair.target] == []


def said(
    subject: str, action: Verb, how: How, about: str = "", *, name: str = "the", **more: object
) -> tuple[str, str]:
    draft = Draft("test")
    denied = bool(how.denial)
    thing = noun_phrase(draft, nouns()[about], name, denied=denied, **more) if about else None  # type: ignore[arg-type]
    who = noun_phrase(draft, nouns()[subject]) if subject in nouns() else pronoun(draft, subject)
    pair = write(draft, clause(draft, who, action, how, thing))
    return pair.source, pair.target


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (
            said("she", verb("lock", "verrouiller"), How("past"), "door"),
            ("She locked the door.", "Elle a verrouillé la porte."),
        ),
        (
            said("girl", verb("go to", "aller à"), How("past"), "market"),
            ("The girl went to the market.", "La fille est allée au marché."),
        ),
        (
            said("they", verb("come back from", "revenir de"), How("past"), "hospital"),
            ("They came back from the hospital.", "Ils sont revenus de l'hôpital."),
        ),
        (
            said("I", verb("buy", "acheter"), How("past", "not", short=True), "bread", name="any"),
            ("I didn't buy any bread.", "Je n'ai pas acheté de pain."),
        ),
        (
            said("we", verb("buy", "acheter"), How("present", "never"), "apple", name="a"),
            ("We never buy an apple.", "Nous n'achetons jamais de pomme."),
        ),
        (
            said("we", verb("eat", "manger"), How("past", "no longer", habit=True), "meat", name="any"),
            ("We no longer ate any meat.", "Nous ne mangions plus de viande."),
        ),
        (
            said("I", verb("eat", "manger"), How(often="often"), "apple", name="some", plural=True),
            ("I often eat some apples.", "Je mange souvent des pommes."),
        ),
        (
            said("woman", verb("sit on", "s'asseoir sur"), How("past", "not"), "chair"),
            ("The woman did not sit on the chair.", "La femme ne s'est pas assise sur la chaise."),
        ),
        (
            said("I", verb("sit on", "s'asseoir sur"), How("present", "not", "want", short=True), "mat", name="this"),
            ("I don't want to sit on this mat.", "Je ne veux pas m'asseoir sur ce tapis."),
        ),
        (
            said(
                "you",
                verb("see", "voir"),
                How("future"),
                "house",
                plural=True,
                adjective=adjectives()["beautiful"],
                name="some",
            ),
            ("You will see some beautiful houses.", "Vous verrez de belles maisons."),
        ),
        (
            said("he", verb("admire", "admirer"), How("present"), "tree", adjective=adjectives()["beautiful"]),
            ("He admires the beautiful tree.", "Il admire le bel arbre."),
        ),
        (
            said(
                "he",
                verb("feed", "nourrir"),
                How("past", progressive=True),
                "animal",
                name="this",
                adjective=adjectives()["old"],
            ),
            ("He was feeding this old animal.", "Il nourrissait ce vieil animal."),
        ),
        (
            said("she", verb("lose", "perdre"), How("past", perfect=True), "plate", name="her"),
            ("She has lost her plate.", "Elle a perdu son assiette."),
        ),
        (
            said("she", verb("drink", "boire"), How(), "water", name="some"),
            ("She drinks some water.", "Elle boit de l'eau."),
        ),
        (
            said("horse", verb("be afraid of", "avoir peur de", state=True), How("past"), "lion", plural=True),
            ("The horse was afraid of the lions.", "Le cheval avait peur des lions."),
        ),
        (
            said("church", verb("be painted by", "être peint* par"), How("past", "not", short=True), "man"),
            ("The church wasn't painted by the man.", "L'église n'a pas été peinte par l'homme."),
        ),
        (
            said("he", verb("buy", "acheter"), How("past"), "egg", name="many", plural=True),
            ("He bought many eggs.", "Il a acheté beaucoup d'œufs."),
        ),
        (
            said("I", verb("be hungry", "avoir faim", state=True), How("present", "not", short=True)),
            ("I am not hungry.", "Je n'ai pas faim."),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_clauses_written_out_by_hand(pair, expected):
    assert pair == expected


def test_a_participle_agrees_with_what_stands_before_it():
    draft = Draft("far")
    letters = noun_phrase(draft, nouns()["letter"], plural=True)
    subject = relative_object(draft, letters, pronoun(draft, "she"), verb("write", "écrire"), How("past"))
    pair = write(draft, copula(draft, subject, adjectives()["long"], How("past"), "too"))
    assert (pair.source, pair.target) == (
        "The letters that she wrote were too long.",
        "Les lettres qu'elle a écrites étaient trop longues.",
    )
    assert [pair.truth.source[verb.subject].text for verb in pair.truth.verbs if verb.subject is not None] == [
        "she",
        "letters",
    ]


def test_owners_and_places_contract():
    draft = Draft("test")
    dog = owned(draft, noun_phrase(draft, nouns()["neighbour"]), nouns()["dog"])
    where = place(draft, "next to", "à côté de", noun_phrase(draft, nouns()["barrier"], plural=True))
    pair = write(draft, clause(draft, dog, verb("sleep", "dormir"), How(), rest=[where]))
    assert pair.source == "The neighbour's dog sleeps next to the barriers."
    assert pair.target == "Le chien du voisin dort à côté des barrières."


def test_a_phrase_may_be_empty():
    assert Phrase().add(Phrase()) == Phrase()


@pytest.mark.parametrize(
    ("who", "how", "tense"),
    [
        ("I", How("present"), "past"),
        ("I", How("past"), "past"),
        ("they", How("present", often="often", habit=True), "present"),
        ("they", How("past", often="often", habit=True), "present"),
        ("we", How("past", "never"), "past"),
        ("she", How("present"), "present"),
        ("I", How("present", "not"), "present"),
        ("I", How("future"), "future"),
    ],
)
def test_what_english_does_not_tell_apart_has_one_tense(who, how, tense):
    """Found: "I read the letter" with two translations."""
    subject = pronoun(Draft("test"), who)
    assert told(verb("read", "lire"), subject.who, how).tense == tense
    assert told(verb("write", "écrire"), subject.who, how) == how


def test_no_noun_has_its_singular_for_a_plural():
    """Found: "she saw the sheep" with two translations."""
    assert [noun.english for noun in nouns().values() if noun.english == noun.english_plural] == ["fish"]
    assert "mass" in nouns()["fish"].classes


def test_never_does_not_happen_every_day(sample):
    """Found: "every day, the princess never listened to this drum"."""
    often = re.compile(r"\bnever\b.*\b(every|on Sundays)|\bevery .*\bnever\b", re.IGNORECASE)
    assert [pair.source for pair in sample if often.search(pair.source)] == []

"""Generated sentences are grammatical: every error that a reader found has a test here."""

import re

import pytest

from regard.data.synthetic import generator
from regard.data.synthetic.grammar import english
from regard.data.synthetic.grammar.clauses import clause, copula, relative_object
from regard.data.synthetic.grammar.lexicon import Verb, actions, adjectives, nouns, nouns_of_class, verb
from regard.data.synthetic.grammar.phrases import (
    Draft,
    Phrase,
    noun_phrase,
    possessive_phrase,
    prepositional_phrase,
    pronoun,
)
from regard.data.synthetic.grammar.realization import realise
from regard.data.synthetic.grammar.subjects import NAMES, sample_person_or_pronoun
from regard.data.synthetic.grammar.verb_groups import VerbForm, resolve_tense
from regard.data.synthetic.plausibility import are_contrasting, plausible_adjectives
from regard.data.synthetic.rng import Rng
from regard.data.synthetic.templates import coreference
from regard.data.synthetic.templates.actions import _sample_another_person, _sample_object

FRENCH_VOWEL = "aeiouyàâéèêëîïôœùû"


def test_every_kind_occurs(sample):
    kinds = {template.kind for template in generator._TEMPLATES} | {"it"}
    assert {pair.annotations.kind for pair in sample} == kinds


def test_elision_and_contraction_are_applied(sample):
    unelided = re.compile(rf"\b(le|la|de|que|ne|je|se|ma|sa|ce|puisque|me) [{FRENCH_VOWEL}]", re.IGNORECASE)
    uncontracted = re.compile(r"\b(de les|à les|de le|à le) \w", re.IGNORECASE)
    for pair in sample:
        assert not unelided.search(pair.target), pair
        assert not uncontracted.search(pair.target), pair
        assert " si il" not in pair.target


def test_nothing_is_elided_before_an_aspirated_h(sample):
    aspirated = re.compile(r"'(hache|haie|hamac|hamster|hangar|harp|haut|hériss)")
    assert [pair.target for pair in sample if aspirated.search(pair.target)] == []


def test_spaces_and_punctuation(sample):
    for pair in sample:
        for text in (pair.source, pair.target):
            assert text == text.strip() and "  " not in text and text[0].isupper()
            assert text[-1] in ".?"
            assert not re.search(r"' | [.,]|[.,]\w", text), text
        assert pair.target.endswith(" ?") == pair.source.endswith("?")


def test_a_precedes_singular_nouns_only(sample):
    """A reader found "chose a drums"."""
    plurals = {noun.english_plural for noun in nouns().values()} - {noun.english for noun in nouns().values()}
    for pair in sample:
        words = [word.text.lower() for word in pair.annotations.source]
        kinds = [word.kind for word in pair.annotations.source]
        for position, word in enumerate(words):
            if word in ("a", "an"):
                noun = next(words[later] for later in range(position, len(words)) if kinds[later] == "noun")
                assert noun not in plurals, pair


def test_an_precedes_vowels(sample):
    for pair in sample:
        assert not re.search(r"\b(a [aeio]|an [^aeiouh])", pair.source), pair


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("bring", "brings brought brought bringing"),  # a reader found "bringed"
        ("prefer", "prefers preferred preferred preferring"),  # a reader found "prefered"
        ("show", "shows showed shown showing"),  # a reader found "has showed"
        ("lend", "lends lent lent lending"),
        ("carry", "carries carried carried carrying"),
        ("stop", "stops stopped stopped stopping"),
        ("watch", "watches watched watched watching"),
        ("go", "goes went gone going"),
        ("write", "writes wrote written writing"),
        ("see", "sees saw seen seeing"),
        ("tie", "ties tied tied tying"),  # a reader found "tiing"
    ],
)
def test_english_verbs(base, forms):
    assert " ".join(english.forms(base)[1:]) == forms


def test_nouns_of_relatives_have_a_possessive(sample):
    """A reader found "there is a sister in front of the villa"."""
    kin = "|".join(noun.english for noun in nouns().values() if "kin" in noun.classes)
    assert [pair.source for pair in sample if re.search(rf"\b(a|an|the|two|some) ({kin})\b", pair.source)] == []


def test_no_name_begins_with_h(sample):
    """A reader found "qu'Hugo", which is also written "que Hugo"."""
    assert [pair.target for pair in sample if re.search(r"\bH[a-z]", pair.target) and " H" in pair.target] == []


def sentences(
    subject: str, action: Verb, form: VerbForm, object_phrase: str = "", *, name: str = "the", **more: object
) -> tuple[str, str]:
    draft = Draft("test")
    negated = bool(form.negation)
    noun = noun_phrase(draft, nouns()[object_phrase], name, negated=negated, **more) if object_phrase else None  # type: ignore[arg-type]
    subject_phrase = noun_phrase(draft, nouns()[subject]) if subject in nouns() else pronoun(draft, subject)
    pair = realise(draft, clause(draft, subject_phrase, action, form, noun))
    return pair.source, pair.target


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (
            sentences("she", verb("lock", "verrouiller"), VerbForm("past"), "door"),
            ("She locked the door.", "Elle a verrouillé la porte."),
        ),
        (
            sentences("girl", verb("go to", "aller à"), VerbForm("past"), "market"),
            ("The girl went to the market.", "La fille est allée au marché."),
        ),
        (
            sentences("they", verb("come back from", "revenir de"), VerbForm("past"), "hospital"),
            ("They came back from the hospital.", "Ils sont revenus de l'hôpital."),
        ),
        (
            sentences("I", verb("buy", "acheter"), VerbForm("past", "not", contracted=True), "bread", name="any"),
            ("I didn't buy any bread.", "Je n'ai pas acheté de pain."),
        ),
        (
            sentences(
                "he", verb("drink", "boire"), VerbForm("present", "not", "must", contracted=True), "coffee", name="any"
            ),
            ("He mustn't drink any coffee.", "Il ne doit pas boire de café."),
        ),
        (
            sentences(
                "he", verb("open", "ouvrir"), VerbForm("present", "not", "can"), "door"
            ),  # a reader found "can not"
            ("He cannot open the door.", "Il ne peut pas ouvrir la porte."),
        ),
        (
            sentences("we", verb("buy", "acheter"), VerbForm("present", "never"), "apple", name="a"),
            ("We never buy an apple.", "Nous n'achetons jamais de pomme."),
        ),
        (
            sentences("we", verb("eat", "manger"), VerbForm("past", "no longer", habitual=True), "meat", name="any"),
            ("We no longer ate any meat.", "Nous ne mangions plus de viande."),
        ),
        (
            sentences("I", verb("eat", "manger"), VerbForm(frequency="often"), "apple", name="some", plural=True),
            ("I often eat some apples.", "Je mange souvent des pommes."),
        ),
        (
            sentences("woman", verb("sit on", "s'asseoir sur"), VerbForm("past", "not"), "chair"),
            ("The woman did not sit on the chair.", "La femme ne s'est pas assise sur la chaise."),
        ),
        (
            sentences(
                "I",
                verb("sit on", "s'asseoir sur"),
                VerbForm("present", "not", "want", contracted=True),
                "mat",
                name="this",
            ),
            ("I don't want to sit on this mat.", "Je ne veux pas m'asseoir sur ce tapis."),
        ),
        (
            sentences(
                "you",
                verb("see", "voir"),
                VerbForm("future"),
                "house",
                plural=True,
                adjective=adjectives()["beautiful"],
                name="some",
            ),
            ("You will see some beautiful houses.", "Vous verrez de belles maisons."),
        ),
        (
            sentences(
                "he", verb("admire", "admirer"), VerbForm("present"), "tree", adjective=adjectives()["beautiful"]
            ),
            ("He admires the beautiful tree.", "Il admire le bel arbre."),
        ),
        (
            sentences(
                "he",
                verb("feed", "nourrir"),
                VerbForm("past", progressive=True),
                "animal",
                name="this",
                adjective=adjectives()["old"],
            ),
            ("He was feeding this old animal.", "Il nourrissait ce vieil animal."),
        ),
        (
            sentences("she", verb("lose", "perdre"), VerbForm("past", perfect=True), "plate", name="her"),
            ("She has lost her plate.", "Elle a perdu son assiette."),
        ),
        (
            sentences("she", verb("drink", "boire"), VerbForm(), "water", name="some"),
            ("She drinks some water.", "Elle boit de l'eau."),
        ),
        (
            sentences(
                "horse", verb("be afraid of", "avoir peur de", state=True), VerbForm("past"), "lion", plural=True
            ),
            ("The horse was afraid of the lions.", "Le cheval avait peur des lions."),
        ),
        (
            sentences(
                "church", verb("be painted by", "être peint* par"), VerbForm("past", "not", contracted=True), "man"
            ),
            ("The church wasn't painted by the man.", "L'église n'a pas été peinte par l'homme."),
        ),
        (
            sentences("he", verb("buy", "acheter"), VerbForm("past"), "egg", name="many", plural=True),
            ("He bought many eggs.", "Il a acheté beaucoup d'œufs."),
        ),
        (
            sentences("I", verb("be hungry", "avoir faim", state=True), VerbForm("present", "not", contracted=True)),
            ("I am not hungry.", "Je n'ai pas faim."),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_clauses(pair, expected):
    assert pair == expected


def test_a_participle_agrees_with_a_preceding_object():
    draft = Draft("far")
    letters = noun_phrase(draft, nouns()["letter"], plural=True)
    subject = relative_object(draft, letters, pronoun(draft, "she"), verb("write", "écrire"), VerbForm("past"))
    pair = realise(draft, copula(draft, subject, adjectives()["long"], VerbForm("past"), "too"))
    assert (pair.source, pair.target) == (
        "The letters that she wrote were too long.",
        "Les lettres qu'elle a écrites étaient trop longues.",
    )
    assert [
        pair.annotations.source[verb.subject].text for verb in pair.annotations.verbs if verb.subject is not None
    ] == [
        "she",
        "letters",
    ]


def test_possessives_and_places_are_contracted():
    draft = Draft("test")
    dog = possessive_phrase(draft, noun_phrase(draft, nouns()["neighbour"]), nouns()["dog"])
    where = prepositional_phrase(draft, "next to", "à côté de", noun_phrase(draft, nouns()["barrier"], plural=True))
    pair = realise(draft, clause(draft, dog, verb("sleep", "dormir"), VerbForm(), rest=[where]))
    assert pair.source == "The neighbour's dog sleeps next to the barriers."
    assert pair.target == "Le chien du voisin dort à côté des barrières."


def test_a_phrase_may_be_empty():
    assert Phrase().add(Phrase()) == Phrase()


@pytest.mark.parametrize(
    ("name", "form", "tense"),
    [
        ("I", VerbForm("present"), "past"),
        ("I", VerbForm("past"), "past"),
        ("they", VerbForm("present", frequency="often", habitual=True), "present"),
        ("they", VerbForm("past", frequency="often", habitual=True), "present"),
        ("we", VerbForm("past", "never"), "past"),
        ("she", VerbForm("present"), "present"),
        ("I", VerbForm("present", "not"), "present"),
        ("I", VerbForm("future"), "future"),
    ],
)
def test_identical_english_present_and_past_have_one_tense(name, form, tense):
    """A reader found "I read the letter" with two translations."""
    subject = pronoun(Draft("test"), name)
    assert resolve_tense(verb("read", "lire"), subject.agreement, form).tense == tense
    assert resolve_tense(verb("write", "écrire"), subject.agreement, form) == form


def test_no_count_noun_has_identical_singular_and_plural():
    """A reader found "she saw the sheep" with two translations."""
    assert [noun.english for noun in nouns().values() if noun.english == noun.english_plural] == ["fish"]
    assert "mass" in nouns()["fish"].classes


def test_never_is_not_combined_with_every_day(sample):
    """A reader found "every day, the princess never listened to this drum"."""
    frequent = re.compile(r"\bnever\b.*\b(every|on Sundays)|\bevery .*\bnever\b", re.IGNORECASE)
    assert [pair.source for pair in sample if frequent.search(pair.source)] == []


def test_regarder_has_the_definite_article(sample):
    """A reader found "il aime regarder des lézards"."""
    assert [pair.target for pair in sample if re.search(r"\bregarder (des|de) ", pair.target)] == []


def test_negation_does_not_change_an_article_after_a_preposition():
    """A reader found "pas sur de chaise"."""
    for seed in range(50):
        rng = Rng(seed, "test")
        chair = _sample_object(
            rng, Draft("test"), verb("sit on", "s'asseoir sur"), nouns()["chair"], None, VerbForm("past", "not")
        )
        assert chair.fr[0].text in ("la", "une", "cette")


def test_a_relative_clause_in_the_past_has_no_future_time():
    """A reader found "the zebra that the actress saw tomorrow"."""
    rng = Rng(1, "test")
    scenes = [coreference.sample_scene(rng) for _ in range(2_000)]
    in_the_future = [
        scene
        for scene in scenes
        if scene.form.tense == "future" and scene.modifiers[scene.wording.subject == "x"].relative_verb
    ]
    assert len(in_the_future) > 10
    assert all(scene.time is None for scene in in_the_future)


@pytest.mark.parametrize(
    ("action", "noun"),
    [
        ("paint", "mat"),
        ("break", "ambulance"),
        ("push", "quilt"),
        ("listen", "television"),
        ("watch", "idea"),
        ("read", "map"),
    ],
)
def test_implausible_objects_are_excluded(action, noun):
    """A reader found each of them."""
    objects = next(candidate.objects for candidate in actions() if candidate.verb.english == action)
    assert not nouns()[noun].classes & set(objects)


@pytest.mark.parametrize(
    ("noun", "adjective"),
    [("photograph", "solid"), ("hat", "short"), ("blanket", "hard"), ("map", "long"), ("orange", "big")],
)
def test_implausible_adjectives_are_excluded(noun, adjective):
    """A reader found each of them; a big orange is "grosse", not "grande"."""
    assert adjective not in {word.english for word in plausible_adjectives(nouns()[noun])}


def test_large_animals_and_vehicles_are_outdoors(sample):
    """A reader found "we sell the taxi in the house", "the panther in the attic"."""
    big = "|".join(noun.english for noun in nouns().values() if noun.classes & {"vehicle", "beast"})
    indoors = re.compile(rf"\b({big})s? in the (house|kitchen|cellar|bedroom|attic|workshop)\b")
    kinds = ("action", "there_is", "passive", "question")
    assert [pair.source for pair in sample if pair.annotations.kind in kinds and indoors.search(pair.source)] == []


def pairs_of_kind(sample, *kinds: str):
    return [pair for pair in sample if pair.annotations.kind in kinds]


def test_the_receiver_is_not_the_giver(sample):
    """A reader found "our grandfather will lend a helmet to our grandfather"."""
    to_self = re.compile(rf"^((?:The|My|Our|Your) \w+|{'|'.join(NAMES)}) .*\bto (?i:\1)( |\.)")
    assert to_self.search("Our grandfather will lend a helmet to our grandfather.")
    assert [pair.source for pair in pairs_of_kind(sample, "giving") if to_self.search(pair.source)] == []
    rng = Rng(1, "test")
    for _ in range(2_000):
        person = sample_person_or_pronoun(rng)
        assert _sample_another_person(rng, person) != person


def test_birds_land_and_cats_sit():
    """A reader found "cet oiseau s'assied" for a bird that is already sitting."""
    by_name = {" ".join((action.verb.english, *action.verb.english_tail)): action for action in actions()}
    assert sentences("parrot", by_name["land on"].verb, VerbForm("past"), "mat") == (
        "The parrot landed on the mat.",
        "Le perroquet s'est posé sur le tapis.",
    )
    assert sentences("mouse", by_name["be sitting on"].verb, VerbForm("past", "not"), "chair") == (
        "The mouse was not sitting on the chair.",
        "La souris n'était pas assise sur la chaise.",
    )
    assert by_name["land on"].subjects == ("bird",)
    assert not {noun for name in by_name["sit on"].subjects for noun in nouns_of_class(name)} & set(
        nouns_of_class("bird")
    )


def test_the_past_of_admire_is_in_the_imparfait(sample):
    """A reader found "le loup que Sarah a admiré"."""
    admired = [pair for pair in sample if re.search(r"\badmired\b", pair.source)]
    assert admired and not [pair for pair in admired if re.search(r"\b(a|ai|ont|avons|avez) admir", pair.target)]


def test_ongoing_actions_in_dreams_are_in_the_imparfait(sample):
    """A reader found "la haie a porté le cerf", "l'omelette a caché le verre"."""
    dreams = pairs_of_kind(sample, "dream")
    assert any("portait" in pair.target for pair in dreams)
    completed = re.compile(r"\ba (porté|caché|cherché|suivi)")
    assert [pair.target for pair in dreams if completed.search(pair.target)] == []


def test_locking_with_a_key_is_translated_idiomatically(sample):
    """A reader found "verrouiller avec une clé"."""
    locked = [pair for pair in sample if re.search(r"\block\w*\b.*\bwith\b", pair.source)]
    assert locked
    for pair in locked:
        assert "with a key" in pair.source and re.search(r"\bferm.* à clé\b", pair.target), pair
    assert not [pair.target for pair in sample if "avec une clé" in pair.target]


def test_but_joins_contrasting_adjectives():
    """A reader found "this monument was famous but it was very beautiful"."""
    words = adjectives()
    assert are_contrasting(words["old"], words["fast"], False) and are_contrasting(
        words["fast"], words["comfortable"], True
    )
    for first, second, negated in (
        ("famous", "beautiful", False),
        ("agile", "old", True),
        ("old", "pretty", True),
        ("slow", "blue", False),
    ):
        assert not are_contrasting(words[first], words[second], negated)


def test_large_precedes_its_noun():
    """A reader found "cette barrière large"."""
    draft = Draft("test")
    street = noun_phrase(draft, nouns()["street"], "a", adjective=adjectives()["wide"], plural=True)
    pair = realise(draft, clause(draft, pronoun(draft, "he"), verb("cross", "traverser"), VerbForm("past"), street))
    assert pair.target == "Il a traversé de larges rues."


def test_no_person_that_il_or_elle_could_mean_directly_precedes_the_reason():
    """A reader found "la girafe que l'actrice a admirée parce qu'elle était trop timide"."""
    rng = Rng(1, "test")
    for _ in range(2_000):
        scene = coreference.sample_scene(rng)
        object_modifiers = scene.modifiers[scene.wording.subject == "x"]
        assert object_modifiers.owner is None
        assert object_modifiers.relative_subject is None or object_modifiers.relative_subject.name in ("I", "you", "we")

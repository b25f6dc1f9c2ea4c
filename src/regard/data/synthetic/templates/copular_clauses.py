"""Templates for clauses with "be": what things are, and what they are like."""

from collections.abc import Sequence

from regard.data.synthetic.grammar.clauses import BE, clause, copula, predicate
from regard.data.synthetic.grammar.lexicon import Adjective, Noun, adjectives, nouns_of_class, verb
from regard.data.synthetic.grammar.phrases import (
    NUMBERS,
    CoreferenceFacts,
    Draft,
    Leaf,
    NounPhrase,
    Phrase,
    noun_phrase,
    prepositional_phrase,
)
from regard.data.synthetic.grammar.realization import Pair, realise
from regard.data.synthetic.grammar.subjects import person_phrase, pronoun_for, sample_person, sample_person_or_pronoun
from regard.data.synthetic.grammar.verb_groups import VerbForm
from regard.data.synthetic.plausibility import (
    COLOURS,
    ON,
    PLACES,
    are_contrasting,
    are_incompatible,
    is_ownable,
    plausible_adjectives,
    sample_place,
)
from regard.data.synthetic.rng import Rng

TENSES = ("present", "present", "past", "past", "future")

# Each profession in English, and its masculine and feminine form in French.
PROFESSIONS = (
    ("student", "étudiant", "étudiante"),
    ("doctor", "médecin", "médecin"),
    ("lawyer", "avocat", "avocate"),
    ("nurse", "infirmier", "infirmière"),
    ("baker", "boulanger", "boulangère"),
    ("singer", "chanteur", "chanteuse"),
    ("journalist", "journaliste", "journaliste"),
    ("dentist", "dentiste", "dentiste"),
    ("musician", "musicien", "musicienne"),
    ("cook", "cuisinier", "cuisinière"),
    ("dancer", "danseur", "danseuse"),
    ("architect", "architecte", "architecte"),
    ("pilot", "pilote", "pilote"),
    ("butcher", "boucher", "bouchère"),
)

_THINK = verb("think", "penser", state=True)

_DESCRIBED_CLASSES = ("animal", "vehicle", "building", "opinion", "wearable", "furniture", "food")

_FEELINGS = tuple(
    verb(source, target, state=True)
    for source, target in (
        ("be hungry", "avoir faim"),
        ("be thirsty", "avoir soif"),
        ("be cold", "avoir froid"),
        ("be hot", "avoir chaud"),
        ("be right", "avoir raison"),
        ("be wrong", "avoir tort"),
        ("be sleepy", "avoir sommeil"),
    )
)

_COMPARED = (
    ("motor", "fast slow big small heavy old expensive powerful modern"),
    ("beast", "fast slow big small heavy old young strong agile brave fierce"),
    ("container", "big small heavy light wide deep practical"),
    ("building", "big small tall beautiful"),
    ("goods", "expensive old heavy light elegant modern beautiful"),
    ("opinion", "interesting boring funny good"),
    ("person", "young old intelligent kind honest serious happy shy brave"),
)


def sample_copula_form(rng: Rng) -> VerbForm:
    """Sample the tense, negation and contraction of "be"."""
    return VerbForm(rng.choice(TENSES), "not" if rng.bernoulli(0.2) else "", contracted=rng.bernoulli(0.5))


def sample_noun_subject(rng: Rng, draft: Draft, noun: Noun) -> NounPhrase:
    """Return a noun as a subject, with a sampled determiner and number.

    If the noun names a person, return a newly sampled person instead.
    """
    if "person" in noun.classes:
        return person_phrase(draft, sample_person(rng))
    name = rng.choice(("the", "the", "this", "my") if is_ownable(noun) else ("the", "the", "this"))
    return noun_phrase(draft, noun, name, plural=not noun.classes & {"mass"} and rng.bernoulli(0.25))


def set_sentiment(draft: Draft, adjective: Adjective, form: VerbForm) -> None:
    """Annotate the sentiment that an adjective expresses: "not good" is negative, but "not bad" is neutral."""
    if adjective.sentiment and form.negation:
        draft.sentiment = "negative" if adjective.sentiment == "positive" else None
    elif adjective.sentiment:
        draft.sentiment = adjective.sentiment


def sample_degree(rng: Rng, adjective: Adjective, form: VerbForm) -> str:
    """Sample the degree of an adjective: "too", "very", or "" for none. Adjectives that are not gradable have none."""
    if not adjective.gradable or not rng.bernoulli(0.35):
        return ""
    return "very" if form.negation or adjective.sentiment == "positive" else rng.choice(("too", "very", "very"))


def quality(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The house was very old" or "She is happy"."""
    form = sample_copula_form(rng)
    if rng.bernoulli(0.35):
        person = sample_person_or_pronoun(rng)
        subject = person_phrase(draft, person)
        adjective = rng.choice(plausible_adjectives(nouns_of_class("person")[0]))
    else:
        noun = rng.choice(nouns_of_class(rng.choice(_DESCRIBED_CLASSES)))
        subject = sample_noun_subject(rng, draft, noun)
        adjective = rng.choice(_suitable_for_tense(plausible_adjectives(noun), form))
    set_sentiment(draft, adjective, form)
    return realise(draft, copula(draft, subject, adjective, form, sample_degree(rng, adjective, form)))


def _suitable_for_tense(words: Sequence[Adjective], form: VerbForm) -> Sequence[Adjective]:
    """Return the adjectives that fit the tense. The future excludes colours, because a fox does not become brown."""
    return [word for word in words if word.english not in COLOURS] if form.tense == "future" else words


def opinion(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The film was boring" or "I think that the film is boring"."""
    noun = rng.choice(nouns_of_class("opinion"))
    adjective = rng.choice([word for word in plausible_adjectives(noun) if word.sentiment])
    form = VerbForm(rng.choice(("present", "past")), "not" if rng.bernoulli(0.2) else "", contracted=rng.bernoulli(0.5))
    start = Phrase()
    if rng.bernoulli(0.4):
        start = clause(draft, person_phrase(draft, sample_person_or_pronoun(rng)), _THINK, VerbForm(form.tense))
        start.add(draft.fixed_phrase("that", "que", "conjunction"))
    subject = noun_phrase(draft, noun, rng.choice(("the", "this", "your")))
    set_sentiment(draft, adjective, form)
    return realise(draft, start.add(copula(draft, subject, adjective, form, sample_degree(rng, adjective, form))))


def profession(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "I am a student", "je suis étudiant". French has no article here."""
    # Exclude subjects such as "the farmer", which already name a profession.
    person = sample_person_or_pronoun(rng)
    while person.noun and "kin" not in person.noun.classes:
        person = sample_person_or_pronoun(rng)
    subject = person_phrase(draft, person)
    english, masculine, feminine = rng.choice(PROFESSIONS)
    several = subject.plural
    word = (feminine if subject.gender == "f" else masculine) + "s" * several
    noun, target = Leaf(english + "s" * several, "noun"), Leaf(word, "noun")
    article = [] if several else [Leaf("a", "determiner")]
    draft.link([*article, noun], [target])
    sentence = clause(draft, subject, BE, sample_copula_form(rng), rest=[Phrase([*article, noun], [target])])
    return realise(draft, sentence)


def feeling(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "I am hungry", "j'ai faim"."""
    subject = person_phrase(draft, sample_person_or_pronoun(rng))
    return realise(draft, clause(draft, subject, rng.choice(_FEELINGS), sample_copula_form(rng)))


def coordination(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The cat and the cow are tired".

    The French adjective is masculine if at least one of the two nouns is masculine.
    """
    name = rng.choice(("animal", "vehicle", "person", "wearable", "building"))
    nouns = rng.choice(nouns_of_class(name)), rng.choice(nouns_of_class(name))
    while nouns[0] is nouns[1]:
        nouns = nouns[0], rng.choice(nouns_of_class(name))
    if name == "person":
        first, second = (noun_phrase(draft, noun, "my" if "kin" in noun.classes else "the") for noun in nouns)
    else:
        first, second = (noun_phrase(draft, noun) for noun in nouns)
    conjunction = draft.fixed_phrase("and", "et", "conjunction")
    gender = "f" if first.gender == second.gender == "f" else "m"
    en, fr = first.en + conjunction.en + second.en, first.fr + conjunction.fr + second.fr
    subject = NounPhrase(en, fr, first.head, first.target, gender, True)
    form = sample_copula_form(rng)
    shared = [word for word in plausible_adjectives(nouns[0]) if word in plausible_adjectives(nouns[1])]
    adjective = rng.choice(_suitable_for_tense(shared, form))
    set_sentiment(draft, adjective, form)
    sentence = copula(draft, subject, adjective, form, sample_degree(rng, adjective, form))
    assert second.head is not None
    draft.adjectives.append((draft.adjectives[-1][0], second.head))
    return realise(draft, sentence)


def there_is(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "There is a cat under the table"."""
    noun = rng.choice(nouns_of_class(rng.choice(("animal", "carried wearable", "vehicle", "person"))))
    while "kin" in noun.classes:
        noun = rng.choice(nouns_of_class("person"))
    several, negated, past = rng.bernoulli(0.35), rng.bernoulli(0.15), rng.bernoulli(0.35)
    name = "no" if negated else rng.choice((*NUMBERS, "many", "some")) if several else "a"
    adjective = rng.choice(plausible_adjectives(noun)) if rng.bernoulli(0.3) else None
    object_phrase = noun_phrase(draft, noun, name, plural=several, adjective=adjective)
    there, il, y = Leaf("there", "pronoun"), Leaf("il", "pronoun"), Leaf("y", "pronoun")
    be = Leaf(("were" if past else "are") if several else ("was" if past else "is"), "verb")
    a = Leaf("avait" if past else "a", "verb")
    draft.links += [(there, il), (there, y), (be, a)]
    target = [il, y, a]
    if negated:
        ne, pas = Leaf("ne", "particle"), Leaf("pas", "adverb")
        draft.link(object_phrase.en[:1], [ne, pas])
        target = [il, ne, y, a, pas]
    return realise(draft, Phrase([there, be], target).add(object_phrase).add(_sample_location(rng, draft, noun)))


def _sample_location(rng: Rng, draft: Draft, noun: Noun) -> Phrase:
    if not noun.classes & {"pet", "carried"} or rng.bernoulli(0.4):
        return sample_place(rng, draft, noun)
    furniture = rng.choice(nouns_of_class("furniture"))
    while furniture is noun:
        furniture = rng.choice(nouns_of_class("furniture"))
    return prepositional_phrase(draft, *rng.choice((*ON, *PLACES)), noun_phrase(draft, furniture))


def comparison(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The box is bigger than the bag" or "My brother is as old as my uncle"."""
    noun_class, words = rng.choice(_COMPARED)
    nouns = rng.choice(nouns_of_class(noun_class)), rng.choice(nouns_of_class(noun_class))
    while nouns[0] is nouns[1]:
        nouns = nouns[0], rng.choice(nouns_of_class(noun_class))
    names = ["my" if "kin" in noun.classes else "the" for noun in nouns]
    first, second = (noun_phrase(draft, noun, name) for noun, name in zip(nouns, names, strict=True))
    adjective = adjectives()[rng.choice(words.split())]
    form = sample_copula_form(rng)._replace(tense=rng.choice(("present", "past")))
    sentence = clause(draft, first, BE, form, rest=[_than(rng, draft, first, adjective), second])
    return realise(draft, sentence)


def _than(rng: Rng, draft: Draft, subject: NounPhrase, adjective: Adjective) -> Phrase:
    phrase = predicate(draft, subject, adjective)
    source, target = phrase.en[0], phrase.fr[0]
    if adjective.english != "good" and rng.bernoulli(0.3):
        start, end = draft.fixed_phrase("as", "aussi", "adverb"), draft.fixed_phrase("as", "que", "conjunction")
        return start.add(phrase).add(end)
    end = draft.fixed_phrase("than", "que", "conjunction")
    if adjective.english == "good":
        source.text, target.text = "better", "meilleure" if subject.gender == "f" else "meilleur"
        return phrase.add(end)
    plus = Leaf("plus", "adverb")
    if adjective.comparative:
        source.text = adjective.comparative
        draft.links.append((source, plus))
        return Phrase([source, *end.en], [plus, target, *end.fr])
    more = Leaf("more", "adverb")
    draft.links.append((more, plus))
    return Phrase([more, source, *end.en], [plus, target, *end.fr])


def unambiguous_it(rng: Rng, draft: Draft) -> Pair:
    """Sample a sentence such as "The car is old but it is fast", in which "it" can refer to one noun only."""
    noun_class = rng.choice(("vehicle", "animal", "building", "furniture", "breakable", "wearable"))
    noun = rng.choice(nouns_of_class(noun_class))
    subject = sample_noun_subject(rng, draft, noun)
    words = plausible_adjectives(noun)
    first, second = rng.choice(words), rng.choice(words)
    while are_incompatible(first, second):
        second = rng.choice(words)
    form = VerbForm(rng.choice(("present", "past")))
    sentence = copula(draft, subject, first, form, sample_degree(rng, first, form))
    coloured = {first.english, second.english} & set(COLOURS)
    second_form = VerbForm(
        form.tense, "not" if not coloured and rng.bernoulli(0.3) else "", contracted=rng.bernoulli(0.5)
    )
    contrasting = are_contrasting(first, second, bool(second_form.negation))
    conjunction = draft.fixed_phrase(*(("but", "mais") if contrasting else ("and", "et")), "conjunction")
    pronoun = pronoun_for(draft, subject)
    draft.coreference = CoreferenceFacts(pronoun, subject)
    second_clause = copula(draft, pronoun, second, second_form, sample_degree(rng, second, second_form))
    return realise(draft, sentence.add(conjunction).add(second_clause))

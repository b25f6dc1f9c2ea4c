"""Sentences about what things are, and are like."""

from collections.abc import Sequence

from regard.data.synthetic.grammar.clauses import BE, clause, copula, predicate
from regard.data.synthetic.grammar.lexicon import Adjective, Noun, adjectives, of_class, verb
from regard.data.synthetic.grammar.phrases import NUMBERS, Draft, ItFacts, Leaf, NounPhrase, Phrase, noun_phrase, place
from regard.data.synthetic.grammar.realization import Pair, write
from regard.data.synthetic.grammar.subjects import it, person, person_phrase, someone
from regard.data.synthetic.grammar.verb_groups import How
from regard.data.synthetic.plausibility import COLOURS, ON, PLACES, clash, contrast, ownable, somewhere, suits
from regard.data.synthetic.rng import Rng

TENSES = ("present", "present", "past", "past", "future")

# English, masculine, feminine.
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

_QUALIFIED = ("animal", "vehicle", "building", "opinion", "wearable", "furniture", "food")

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


def draw_how(dice: Rng) -> How:
    return How(dice.pick(TENSES), "not" if dice.chance(0.2) else "", short=dice.chance(0.5))


def subject_of(dice: Rng, draft: Draft, noun: Noun) -> NounPhrase:
    """A noun as a subject: "the", "this" or "my"; sometimes several."""
    if "person" in noun.classes:
        return person_phrase(draft, person(dice))
    name = dice.pick(("the", "the", "this", "my") if ownable(noun) else ("the", "the", "this"))
    return noun_phrase(draft, noun, name, plural=not noun.classes & {"mass"} and dice.chance(0.25))


def feel(draft: Draft, adjective: Adjective, how: How) -> None:
    """Note whether the sentence is friendly: not good is bad, but not bad is not yet good."""
    if adjective.sentiment and how.denial:
        draft.sentiment = "negative" if adjective.sentiment == "positive" else None
    elif adjective.sentiment:
        draft.sentiment = adjective.sentiment


def degree(dice: Rng, adjective: Adjective, how: How) -> str:
    if not adjective.graded or not dice.chance(0.35):
        return ""
    return "very" if how.denial or adjective.sentiment == "positive" else dice.pick(("too", "very", "very"))


def quality(dice: Rng, draft: Draft) -> Pair:
    """ "The house was very old"; "she is happy"."""
    how = draw_how(dice)
    if dice.chance(0.35):
        who = someone(dice)
        subject = person_phrase(draft, who)
        adjective = dice.pick(suits(of_class("person")[0]))
    else:
        noun = dice.pick(of_class(dice.pick(_QUALIFIED)))
        subject, adjective = subject_of(dice, draft, noun), dice.pick(_lasting(suits(noun), how))
    feel(draft, adjective, how)
    return write(draft, copula(draft, subject, adjective, how, degree(dice, adjective, how)))


def _lasting(words: Sequence[Adjective], how: How) -> Sequence[Adjective]:
    """Without colours for what is to come: a fox is brown for good."""
    return [one for one in words if one.english not in COLOURS] if how.tense == "future" else words


def opinion(dice: Rng, draft: Draft) -> Pair:
    """ "The film was boring", "I think that the film is boring"."""
    noun = dice.pick(of_class("opinion"))
    adjective = dice.pick([one for one in suits(noun) if one.sentiment])
    how = How(dice.pick(("present", "past")), "not" if dice.chance(0.2) else "", short=dice.chance(0.5))
    start = Phrase()
    if dice.chance(0.4):
        start = clause(draft, person_phrase(draft, someone(dice)), _THINK, How(how.tense))
        start.add(draft.fixed("that", "que", "conjunction"))
    subject = noun_phrase(draft, noun, dice.pick(("the", "this", "your")))
    feel(draft, adjective, how)
    return write(draft, start.add(copula(draft, subject, adjective, how, degree(dice, adjective, how))))


def profession(dice: Rng, draft: Draft) -> Pair:
    """ "I am a student", "je suis étudiant": no article in French."""
    # A farmer is not a lawyer.
    who = someone(dice)
    while who.noun and "kin" not in who.noun.classes:
        who = someone(dice)
    subject = person_phrase(draft, who)
    english, masculine, feminine = dice.pick(PROFESSIONS)
    several = subject.plural
    word = (feminine if subject.gender == "f" else masculine) + "s" * several
    noun, target = Leaf(english + "s" * several, "noun"), Leaf(word, "noun")
    article = [] if several else [Leaf("a", "determiner")]
    draft.link([*article, noun], [target])
    said = clause(draft, subject, BE, draw_how(dice), rest=[Phrase([*article, noun], [target])])
    return write(draft, said)


def feeling(dice: Rng, draft: Draft) -> Pair:
    """ "I am hungry", "j'ai faim"."""
    return write(draft, clause(draft, person_phrase(draft, someone(dice)), dice.pick(_FEELINGS), draw_how(dice)))


def both(dice: Rng, draft: Draft) -> Pair:
    """ "The cat and the cow are tired": one masculine makes the whole masculine."""
    name = dice.pick(("animal", "vehicle", "person", "wearable", "building"))
    nouns = dice.pick(of_class(name)), dice.pick(of_class(name))
    while nouns[0] is nouns[1]:
        nouns = nouns[0], dice.pick(of_class(name))
    if name == "person":
        first, second = (noun_phrase(draft, noun, "my" if "kin" in noun.classes else "the") for noun in nouns)
    else:
        first, second = (noun_phrase(draft, noun) for noun in nouns)
    link = draft.fixed("and", "et", "conjunction")
    gender = "f" if first.gender == second.gender == "f" else "m"
    together = NounPhrase(
        first.en + link.en + second.en, first.fr + link.fr + second.fr, first.head, first.target, gender, True
    )
    how = draw_how(dice)
    adjective = dice.pick(_lasting([one for one in suits(nouns[0]) if one in suits(nouns[1])], how))
    feel(draft, adjective, how)
    said = copula(draft, together, adjective, how, degree(dice, adjective, how))
    assert second.head is not None
    draft.adjectives.append((draft.adjectives[-1][0], second.head))
    return write(draft, said)


def there_is(dice: Rng, draft: Draft) -> Pair:
    """ "There is a cat under the table"."""
    noun = dice.pick(of_class(dice.pick(("animal", "carried wearable", "vehicle", "person"))))
    while "kin" in noun.classes:
        noun = dice.pick(of_class("person"))
    several, denied, past = dice.chance(0.35), dice.chance(0.15), dice.chance(0.35)
    name = "no" if denied else dice.pick((*NUMBERS, "many", "some")) if several else "a"
    adjective = dice.pick(suits(noun)) if dice.chance(0.3) else None
    about = noun_phrase(draft, noun, name, plural=several, adjective=adjective)
    there, il, y = Leaf("there", "pronoun"), Leaf("il", "pronoun"), Leaf("y", "pronoun")
    be = Leaf(("were" if past else "are") if several else ("was" if past else "is"), "verb")
    a = Leaf("avait" if past else "a", "verb")
    draft.links += [(there, il), (there, y), (be, a)]
    target = [il, y, a]
    if denied:
        ne, pas = Leaf("ne", "particle"), Leaf("pas", "adverb")
        draft.link(about.en[:1], [ne, pas])
        target = [il, ne, y, a, pas]
    return write(draft, Phrase([there, be], target).add(about).add(_spot(dice, draft, noun)))


def _spot(dice: Rng, draft: Draft, noun: Noun) -> Phrase:
    if not noun.classes & {"pet", "carried"} or dice.chance(0.4):
        return somewhere(dice, draft, noun)
    other = dice.pick(of_class("furniture"))
    while other is noun:
        other = dice.pick(of_class("furniture"))
    return place(draft, *dice.pick((*ON, *PLACES)), noun_phrase(draft, other))


def comparison(dice: Rng, draft: Draft) -> Pair:
    """ "The box is bigger than the bag", "my brother is as old as Paul"."""
    name, words = dice.pick(_COMPARED)
    nouns = dice.pick(of_class(name)), dice.pick(of_class(name))
    while nouns[0] is nouns[1]:
        nouns = nouns[0], dice.pick(of_class(name))
    names = ["my" if "kin" in noun.classes else "the" for noun in nouns]
    first, second = (noun_phrase(draft, noun, said) for noun, said in zip(nouns, names, strict=True))
    adjective = adjectives()[dice.pick(words.split())]
    how = draw_how(dice)._replace(tense=dice.pick(("present", "past")))
    said = clause(draft, first, BE, how, rest=[_than(dice, draft, first, adjective), second])
    return write(draft, said)


def _than(dice: Rng, draft: Draft, subject: NounPhrase, adjective: Adjective) -> Phrase:
    phrase = predicate(draft, subject, adjective)
    source, target = phrase.en[0], phrase.fr[0]
    if adjective.english != "good" and dice.chance(0.3):
        start, end = draft.fixed("as", "aussi", "adverb"), draft.fixed("as", "que", "conjunction")
        return start.add(phrase).add(end)
    end = draft.fixed("than", "que", "conjunction")
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


def it_alone(dice: Rng, draft: Draft) -> Pair:
    """ "The car is old but it is fast": only one noun for "it" to stand for."""
    noun = dice.pick(of_class(dice.pick(("vehicle", "animal", "building", "furniture", "breakable", "wearable"))))
    subject = subject_of(dice, draft, noun)
    words = suits(noun)
    first, second = dice.pick(words), dice.pick(words)
    while clash(first, second):
        second = dice.pick(words)
    how = How(dice.pick(("present", "past")))
    said = copula(draft, subject, first, how, degree(dice, first, how))
    coloured = {first.english, second.english} & set(COLOURS)
    later = How(how.tense, "not" if not coloured and dice.chance(0.3) else "", short=dice.chance(0.5))
    opposed = contrast(first, second, bool(later.denial))
    link = draft.fixed(*(("but", "mais") if opposed else ("and", "et")), "conjunction")
    pronoun = it(draft, subject)
    draft.it = ItFacts(pronoun, subject)
    return write(draft, said.add(link).add(copula(draft, pronoun, second, later, degree(dice, second, later))))

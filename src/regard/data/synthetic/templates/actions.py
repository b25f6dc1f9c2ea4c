"""Sentences about what people, animals and things do."""

from dataclasses import replace
from functools import cache

from regard.data.synthetic.grammar import english, french
from regard.data.synthetic.grammar.clauses import clause
from regard.data.synthetic.grammar.lexicon import Action, Noun, Verb, actions, of_class, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, NounPhrase, Phrase, noun_phrase, place
from regard.data.synthetic.grammar.realization import Pair, write
from regard.data.synthetic.grammar.subjects import Person, person, person_phrase, someone
from regard.data.synthetic.grammar.verb_groups import How, told
from regard.data.synthetic.plausibility import a_way, movable, some, sometime, somewhere, thing
from regard.data.synthetic.rng import Rng

# Over in a moment: nobody is doing them just now.
_MOMENTS = {"see", "hear", "find", "lose", "forget", "break", "choose", "arrive", "leave", "fall", "sit", "land"}

# Of these, what lasts long enough to be told of now.
_SENSED = {"see", "hear"}

# Done to a thing once: a habit of it needs ever new things.
# fmt: off
_ONCE = {
    "break", "bring", "buy", "choose", "come", "cut", "eat", "enter", "find", "forget", "give", "go", "lend", "lose",
    "paint", "prepare", "repair", "sell", "send", "show", "write",
}

# fmt: on
# "laughed at the school" would be another thing.
_NOT_AT = {"laugh", "smile", "run", "jump"}

_ALONE = tuple(
    verb(source, target)
    for source, target in (
        ("sleep", "dormir"),
        ("run", "courir"),
        ("jump", "sauter"),
        ("swim", "nager"),
        ("fall", "tomber"),
        ("sing", "chanter"),
        ("dance", "danser"),
        ("walk", "marcher"),
        ("work", "travailler"),
        ("laugh", "rire"),
        ("cry", "pleurer"),
        ("smile", "sourire"),
        ("arrive", "arriver"),
        ("leave", "partir"),
        ("wait", "attendre"),
    )
)

_OF_ANIMALS = 5  # how many of them animals do as well

_GOING = (
    (verb("go to", "aller à"), "at"),
    (verb("arrive at", "arriver à"), "at"),
    (verb("come back from", "revenir de"), "at"),
    (verb("enter", "entrer dans"), "inside at"),
    (verb("stay in", "rester dans"), "spot"),
    (verb("stay at", "rester à"), "at"),
    (verb("live in", "habiter dans", state=True), "home"),
)

_GIVING = (
    verb("give", "donner"),
    verb("show", "montrer"),
    verb("lend", "prêter"),
    verb("send", "envoyer"),
    verb("bring", "apporter"),
)

_DREAMT = (
    verb("sit on", "s'asseoir sur"),
    verb("eat", "manger"),
    verb("follow", "suivre", state=True),
    verb("push", "pousser"),
    verb("carry", "porter", state=True),
    verb("frighten", "effrayer"),
    verb("jump over", "sauter par-dessus"),
    verb("hide", "cacher", state=True),
    verb("look for", "chercher", state=True),
)

LOCK_WITH_A_KEY = verb("lock", "fermer")


def doer(dice: Rng, draft: Draft, how: How, classes: tuple[str, ...], *avoid: Noun) -> tuple[NounPhrase, Person | None]:
    """Someone or something of the classes, as a subject; and whose things are theirs."""
    chosen = dice.pick(classes)
    if chosen == "person":
        who = someone(dice)
        return person_phrase(draft, who), who
    noun = dice.pick(of_class(chosen))
    while noun in avoid:
        noun = dice.pick(of_class(chosen))
    # Not "a dog does not sleep", and not "a dog sleeps every week".
    happens = not (how.denial or how.habit or how.modal) and (how.tense != "present" or how.progressive)
    name = dice.pick(("the", "the", "the", "this", "my", "a") if happens else ("the", "the", "the", "this", "my"))
    return noun_phrase(draft, noun, name, plural=name == "the" and dice.chance(0.25)), None


def draw_how(dice: Rng, action: Verb, *, modal: float = 0.1, deny: float = 0.2) -> How:
    name = action.english
    if action.state:
        return How(dice.pick(("present", "past")), "not" if dice.chance(deny) else "", short=dice.chance(0.5))
    how = a_way(dice, lasting=name not in _MOMENTS, modal=modal, deny=deny)
    if how.denial == "no longer" and name in _ONCE | _MOMENTS:
        return how._replace(denial="never", habit=False)
    if how.progressive and how.denial and name in _ONCE:
        return how._replace(progressive=False)
    happens = how.tense == "present" and not how.often and not how.modal and how.denial in ("", "not")
    if happens and name in _MOMENTS - _SENSED:
        return how._replace(tense="past", habit=how.habit and not how.denial)
    return how


def just_now(action: Verb, how: How) -> How:
    """What happens once, told as English tells it: "is crossing", not "crosses"; "broke", not "breaks"."""
    if how.tense != "present" or how.modal or action.english in _SENSED:
        return how
    return how._replace(tense="past") if action.english in _MOMENTS else how._replace(progressive=True)


def settled(
    dice: Rng,
    draft: Draft,
    how: How,
    noun: Noun | None = None,
    *,
    where: float = 0.3,
    when: float = 0.35,
    at: bool = True,
) -> list[Phrase]:
    """Perhaps where, perhaps when."""
    found = [somewhere(dice, draft, noun, at=at)] if (noun is None or movable(noun)) and dice.chance(where) else []
    time = _time(dice, draft, how, when)
    return [*found, time] if time else found


def _time(dice: Rng, draft: Draft, how: How, when: float = 0.35) -> Phrase | None:
    """Perhaps when. A habit of the past must be said to be one."""
    must = how.habit and how.tense == "past" and how.denial != "no longer" and not how.often
    free = not how.modal and not how.perfect and not how.often and how.denial not in ("never", "no longer")
    simple_present = how.tense == "present" and not how.progressive and not how.habit
    if must or (free and not simple_present and dice.chance(when)):
        return sometime(dice, draft, how)
    return None


def action(dice: Rng, draft: Draft) -> Pair:
    """ "She locked the door with a key"."""
    chosen = dice.pick(actions())
    how = draw_how(dice, chosen.verb)
    noun = dice.pick(of_class(" ".join(chosen.objects)))
    subject, who = doer(dice, draft, how, chosen.subjects, noun)
    how = told(chosen.verb, subject.who, how)
    about = _object(dice, draft, chosen.verb, noun, who, how)
    tool, instrument = _tool(dice, draft, chosen, noun)
    does = LOCK_WITH_A_KEY if instrument and chosen.tool == "tool-lock" else chosen.verb
    where = [somewhere(dice, draft, noun)] if movable(noun) and dice.chance(0.3) else []
    said = clause(draft, subject, does, how, about, [*tool, *where], instrument=instrument)
    time = None if does.state else _time(dice, draft, how)
    if time is None:
        return write(draft, said)
    if how.tense != "present" and dice.chance(0.25):
        return write(draft, time.add(draft.fixed(",", ",", "punctuation")).add(said))
    return write(draft, said.add(time))


def _object(dice: Rng, draft: Draft, action: Verb, noun: Noun, who: Person | None, how: How) -> NounPhrase:
    if "person" in noun.classes:
        return person_phrase(draft, _other_than(dice, who))
    denied = bool(how.denial)
    if how.habit and action.english in _ONCE:
        return noun_phrase(draft, noun, "bare", plural="mass" not in noun.classes, denied=denied)
    # "pas de chaise", but "pas sur une chaise".
    if action.french_tail:
        return noun_phrase(draft, noun, dice.pick(("the", "the", "a", "this")))
    any_one = not how.often and not (denied and (how.modal or how.denial != "not"))
    return thing(dice, draft, noun, some(how), owner=who, denied=denied, any_one=any_one)


def _other_than(dice: Rng, who: Person | None) -> Person:
    """Someone else: nobody follows, or gives a hat to, themselves."""
    other = person(dice)
    while other == who:
        other = person(dice)
    return other


def _tool(dice: Rng, draft: Draft, chosen: Action, noun: Noun) -> tuple[list[Phrase], NounPhrase | None]:
    by_hand = chosen.tool == "tool-eat" and "forked" not in noun.classes
    if not chosen.tool or by_hand or not dice.chance(0.5):
        return [], None
    if chosen.tool == "tool-lock":
        return with_a_key(draft)
    noun = dice.pick(of_class(chosen.tool))
    phrase = noun_phrase(draft, noun, dice.pick(("a", "a", "a", "the", "this")))
    return [place(draft, "with", "avec", phrase)], phrase


def with_a_key(draft: Draft) -> tuple[list[Phrase], NounPhrase]:
    """How a door is locked, where French closes it "à clé"."""
    start = draft.fixed("with", "à", "preposition")
    article, key, target = Leaf("a", "determiner"), Leaf("key", "noun"), Leaf("clé", "noun")
    draft.link([article, key], [target])
    phrase = NounPhrase([article, key], [target], key, target, "f")
    return [start.add(phrase)], phrase


def alone(dice: Rng, draft: Draft) -> Pair:
    """ "The children sleep in the garden"."""
    animal = dice.chance(0.25)
    chosen = dice.pick(_ALONE[:_OF_ANIMALS] if animal else _ALONE)
    how = draw_how(dice, chosen, modal=0.0 if chosen.english == "fall" else 0.1)
    subject, _ = doer(dice, draft, how, ("animal",) if animal else ("person",))
    rest = settled(dice, draft, how, where=0.45, at=chosen.english not in _NOT_AT)
    return write(draft, clause(draft, subject, chosen, how, rest=rest))


def going(dice: Rng, draft: Draft) -> Pair:
    """ "She went to the market"."""
    chosen, where = dice.pick(_GOING)
    how = draw_how(dice, chosen) if not chosen.state else How(dice.pick(("present", "past")), "")
    subject, _ = doer(dice, draft, how, ("person",))
    about = noun_phrase(draft, dice.pick(of_class(where)))
    when = [] if chosen.state else settled(dice, draft, how, where=0.0)
    return write(draft, clause(draft, subject, chosen, how, about, when))


def giving(dice: Rng, draft: Draft) -> Pair:
    """ "He gave the book to the girl"."""
    chosen = dice.pick(_GIVING)
    how = draw_how(dice, chosen)
    subject, who = doer(dice, draft, how, ("person",))
    about = _object(dice, draft, chosen, dice.pick(of_class("carried wearable")), who, how)
    receiver = place(draft, "to", "à", person_phrase(draft, _other_than(dice, who)))
    return write(draft, clause(draft, subject, chosen, how, about, [receiver, *settled(dice, draft, how, where=0.1)]))


def dream(dice: Rng, draft: Draft) -> Pair:
    """ "In my dream, the mat sat on the cat": where anything can do anything."""
    chosen = dice.pick(_DREAMT)
    first, second = dice.pick(of_class(_ANYTHING)), dice.pick(of_class(_ANYTHING))
    # Even here birds land, and whoever "porte" a hat wears it.
    while chosen.english == "sit" and "bird" in first.classes:
        first = dice.pick(of_class(_ANYTHING))
    while second is first or (chosen.english == "carry" and "wearable" in second.classes):
        second = dice.pick(of_class(_ANYTHING))
    start = draft.fixed("in", "dans", "preposition").add(draft.fixed("my", "mon", "determiner"))
    start.add(draft.fixed("dream", "rêve", "noun")).add(draft.fixed(",", ",", "punctuation"))
    said = clause(draft, noun_phrase(draft, first), chosen, How("past"), noun_phrase(draft, second))
    return write(draft, start.add(said))


_ANYTHING = "animal furniture vehicle snack breakable building portable"


def passive(dice: Rng, draft: Draft) -> Pair:
    """ "The door was opened by the man"."""
    chosen = dice.pick(direct())
    turned = turn(chosen.verb)
    noun = dice.pick(of_class(" ".join(chosen.objects)))
    subject = noun_phrase(draft, noun, dice.pick(("the", "the", "this")), plural=dice.chance(0.25))
    by = person_phrase(draft, person(dice))
    tense = "past" if chosen.verb.english in _MOMENTS else dice.pick(("past", "past", "future"))
    how = How(tense, "not" if dice.chance(0.2) else "", short=dice.chance(0.5))
    said = clause(draft, subject, turned, how, by, settled(dice, draft, how, noun, where=0.15, when=0.3))
    return write(draft, said)


@cache
def direct() -> tuple[Action, ...]:
    """What people do to things with a plain object in both languages."""
    return tuple(
        one
        for one in actions()
        if "person" in one.subjects
        and not (one.verb.english_tail or one.verb.french_tail or one.verb.reflexive or one.verb.state)
        and not {"drink", "meal", "prepared", "person"} & set(one.objects)
    )


@cache
def turn(chosen: Verb) -> Verb:
    """The passive of a verb."""
    participle = french.conjugate(chosen.french).participle
    return replace(
        chosen,
        english="be",
        english_tail=(english.forms(chosen.english).participle, "by"),
        french="être",
        french_tail=(participle + "*", "par"),
    )

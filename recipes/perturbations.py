"""Changes of sentence pairs to what people type: other quotes and spaces, no capitals, a list item, a greeting.

The same changes are used to augment the training data and to measure how much quality they cost. Changes of form (case,
the final period, emoji, several sentences, list items, greetings) are made on both sides. Changes of characters
(apostrophes, quotes, no-break spaces, French punctuation without spaces) are made in the source only, because the
models always write the typography of `domains.french_typography`.
"""

import re
from collections.abc import Callable
from random import Random

from domains import TextPair

ENGLISH, FRENCH = 0, 1

More = Callable[[], TextPair]  # returns another pair of the same domain

EMOJI = [
    "😀",
    "😂",
    "😊",
    "😍",
    "😎",
    "😢",
    "😭",
    "😡",
    "🤔",
    "🙏",
    "👍",
    "👏",
    "💪",
    "🎉",
    "🎂",
    "🔥",
    "✨",
    "💕",
    "🚗",
    "🏠",
    "🐶",
    "🐱",
    "🍕",
    "☕",
    "🌞",
    "🙂",
    "😉",
    "👋",
    "✅",
    "⚠️",
]
MARKERS = ("- ", "* ", "• ", "1. ", "2) ", "– ")
NO_BREAK_SPACES = ("\u00a0", "\u202f")

# English and French forms of address, and the gender that the French adjective agrees with.
_FAMILY_NAMES = ["Smith", "Martin", "Dubois", "Brown", "Nguyen", "Garcia", "Dupont", "Miller", "Leroy", "Tremblay"]
NAMES = {
    "m": [
        "Tom",
        "John",
        "David",
        "Paul",
        "Marc",
        "Daniel",
        "Thomas",
        "Ahmed",
        "Luc",
        "Martin",
        "Karim",
        "Hugo",
        "Leo",
        "Oscar",
        "Victor",
    ],
    "f": [
        "Anna",
        "Mary",
        "Sarah",
        "Julie",
        "Emma",
        "Claire",
        "Laura",
        "Nadia",
        "Sophie",
        "Alice",
        "Fatima",
        "Maria",
        "Lisa",
        "Nina",
        "Helen",
    ],
    "mr": _FAMILY_NAMES,
    "ms": _FAMILY_NAMES,
    "": [""],
}
GREETINGS = (  # whom it addresses, English, French
    ("m", "Hi {},", "Salut {},"),
    ("f", "Hi {},", "Salut {},"),
    ("m", "Hello {},", "Bonjour {},"),
    ("f", "Hello {},", "Bonjour {},"),
    ("f", "Hey {},", "Salut {},"),
    ("m", "Dear {},", "Cher {},"),
    ("f", "Dear {},", "Chère {},"),
    ("mr", "Dear Mr {},", "Cher Monsieur {},"),
    ("ms", "Dear Ms {},", "Chère Madame {},"),
    ("mr", "Dear Mr. {},", "Cher Monsieur {},"),
    ("ms", "Dear Mrs. {},", "Chère Madame {},"),
    ("m", "Good morning {},", "Bonjour {},"),
    ("f", "Good evening {},", "Bonsoir {},"),
    ("", "Hello,", "Bonjour,"),
    ("", "Hi everyone,", "Bonjour à tous,"),
    ("", "Hello everyone,", "Bonjour à tous,"),
    ("", "Dear all,", "Bonjour à tous,"),
    ("", "Dear colleagues,", "Chers collègues,"),
    ("", "Dear friends,", "Chers amis,"),
    ("", "Dear Sir or Madam,", "Madame, Monsieur,"),
    ("", "To whom it may concern,", "Madame, Monsieur,"),
    ("", "Dear customer,", "Cher client,"),
)
CLOSINGS = (
    ("", "Best regards,", "Cordialement,"),
    ("", "Kind regards,", "Cordialement,"),
    ("", "Regards,", "Cordialement,"),
    ("", "Sincerely,", "Sincèrement,"),
    ("", "Yours sincerely,", "Veuillez agréer mes salutations distinguées,"),
    ("", "Yours faithfully,", "Veuillez agréer mes salutations distinguées,"),
    ("", "Best wishes,", "Meilleurs vœux,"),
    ("", "Many thanks,", "Merci beaucoup,"),
    ("", "Thanks,", "Merci,"),
    ("", "Thank you in advance.", "Merci d'avance."),
    ("", "Thank you for your help.", "Merci de votre aide."),
    ("", "I look forward to hearing from you.", "Dans l'attente de votre réponse."),
    ("", "Looking forward to your reply.", "Dans l'attente de votre réponse."),
    ("", "Love,", "Je t'embrasse,"),
    ("", "See you soon!", "À bientôt !"),
    ("", "Have a nice day!", "Bonne journée !"),
    ("", "Have a nice weekend!", "Bon week-end !"),
    ("m", "Say hello to {} for me.", "Passe le bonjour à {} de ma part."),
    ("f", "Say hello to {} for me.", "Passe le bonjour à {} de ma part."),
)

# Words whose capital goes away after a greeting.
_FIRST_WORDS = (
    re.compile(r"(?:The|We|It|This|That|These|You|He|She|They|There|What|When|Where|How|Can|Could|If|My|Our|Your)\b"),
    re.compile(
        r"(?:Le|La|Les|L'|Un|Une|Je|J'|Nous|Vous|Tu|Il|Elle|Ils|Elles|Ce|C'|Cette|Ces|Cela|Ça|On|Que|Quand|Comment|"
        r"Où|Pourquoi|Est-ce|Pouvez|Peux|Si|Mon|Ma|Mes|Notre|Nos|Votre|Vos|Qu')(?![\w])"
    ),
)
_FINAL_PERIOD = re.compile(r"(?<=[\w)'\"»])\s?\.$")
_FRENCH_STOP = re.compile(r" (?=[?!;:»])|(?<=«) ")


def curly(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """Curly apostrophes, and curly quotes in pairs."""
    text = re.sub(r"(?<=\w)'(?=\w)|(?<=\w)'(?=\s|$)", "’", pair[source])
    return _source_only(pair, source, re.sub(r'"([^"]+)"', r"“\1”", text))


def straight(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """Straight quotes in the place of curly and French ones."""
    text = re.sub(r"[“”]|« ?| ?»", '"', pair[source].replace("’", "'").replace("‘", "'"))
    return _source_only(pair, source, text)


def no_break_spaces(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """No-break spaces: before French punctuation, and otherwise in the place of one or two spaces."""
    space = random.choice(NO_BREAK_SPACES)
    if source == FRENCH and _FRENCH_STOP.search(pair[source]):
        return _source_only(pair, source, _FRENCH_STOP.sub(space, pair[source]))
    words = pair[source].split(" ")
    gaps = set(random.sample(range(1, len(words)), min(2, len(words) - 1)))
    text = "".join((("" if not at else space if at in gaps else " ") + word) for at, word in enumerate(words))
    return _source_only(pair, source, text)


def no_space_before_marks(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """French question marks, exclamation marks, colons and semicolons without the space before them."""
    return _source_only(pair, source, re.sub(r" (?=[?!;:])", "", pair[FRENCH])) if source == FRENCH else None


def no_final_period(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """No period at the end."""
    if not all(map(_FINAL_PERIOD.search, pair)):
        return None
    return _both(pair, lambda text: _FINAL_PERIOD.sub("", text))


def lower_case(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """No capital letters."""
    return _both(pair, str.lower)


def all_caps(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """Only capital letters."""
    return _both(pair, str.upper)


def emoji(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """An emoji at the end, sometimes twice or at the start."""
    sign = random.choice(EMOJI) * random.choice((1, 1, 1, 2))
    if random.random() < 0.15:
        return _both(pair, lambda text: f"{sign} {text}")
    return _both(pair, lambda text: f"{text} {sign}")


def several_sentences(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """Two or three sentences in a line."""
    parts = [pair] + [more() for _ in range(random.choice((1, 1, 2)))]
    if not all(text[-1] in ".!?" for part in parts for text in part):
        return None
    english, french = (" ".join(side) for side in zip(*parts, strict=True))
    return english, french


def list_item(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """A list item: a marker, and no period, or a semicolon."""
    ends = random.choice((("", ""), ("", ""), (";", " ;"))) if all(map(_FINAL_PERIOD.search, pair)) else None
    marker = random.choice(MARKERS)
    if ends is None:
        return _both(pair, lambda text: marker + text)
    english, french = (marker + _FINAL_PERIOD.sub("", text) + end for text, end in zip(pair, ends, strict=True))
    return english, french


def greeting(pair: TextPair, source: int, random: Random, more: More) -> TextPair | None:
    """The greeting of an e-mail before the sentence."""
    if not all(first.match(text) for first, text in zip(_FIRST_WORDS, pair, strict=True)):
        return None
    before = letter_line(random, GREETINGS)
    if random.random() < 0.3:  # many write the next word with a capital
        return before[0] + " " + pair[0], before[1] + " " + pair[1]
    english, french = (f"{start} {text[0].lower()}{text[1:]}" for start, text in zip(before, pair, strict=True))
    return english, french


def letter_line(random: Random, lines: tuple[tuple[str, str, str], ...]) -> TextPair:
    """Return a greeting or a closing with a name."""
    addressee, english, french = random.choice(lines)
    name = random.choice(NAMES[addressee])
    return english.format(name), french.format(name)


PERTURBATIONS = {
    "curly apostrophes and quotes": curly,
    "straight quotes": straight,
    "no-break spaces": no_break_spaces,
    "no space before ? ! ; :": no_space_before_marks,
    "no final period": no_final_period,
    "lower case": lower_case,
    "all capitals": all_caps,
    "emoji": emoji,
    "several sentences in a line": several_sentences,
    "list item": list_item,
    "e-mail greeting": greeting,
}


def perturb(name: str, pair: TextPair, source: int, more: More, seed: int = 1) -> TextPair | None:
    """Return the changed pair, which depends on the seed and on the pairs only; None if the change does not apply."""
    return PERTURBATIONS[name](pair, source, Random(f"{seed} {name} {pair[ENGLISH]}"), more)


def _source_only(pair: TextPair, source: int, text: str) -> TextPair | None:
    if text == pair[source]:
        return None
    return (text, pair[FRENCH]) if source == ENGLISH else (pair[ENGLISH], text)


def _both(pair: TextPair, change: Callable[[str], str]) -> TextPair | None:
    changed = change(pair[ENGLISH]), change(pair[FRENCH])
    return changed if changed[0] != pair[ENGLISH] and changed[1] != pair[FRENCH] else None

"""Numbers and their English names: a small language whose every sentence can be checked.

`47105` is "forty-seven thousand one hundred and five". The digits are raw, as someone would type them; where they
are cut into pieces is the tokenizer's business.
"""

import random

Pair = tuple[str, str]

BELOW = 1_000_000

# fmt: off
_SMALL = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
# fmt: on

# Below this every name is irregular or made of irregular parts: only examples teach them.
_WORDS_BELOW = 100

# Few pieces, so that digits stay single and their place can be learnt.
STEPS = 800
SETTINGS = ("tokenizer.pieces=360", "train.dropout=0", "train.batch_tokens=1024", "train.micro_tokens=1024")


def spell(number: int) -> str:
    """The British name of a number from 0 to 999,999: "and" before what is below a hundred, no commas."""
    if not 0 <= number < BELOW:
        raise ValueError(f"only numbers from 0 to {BELOW - 1:,} can be spelled, got {number:,}")
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_SMALL[ones]}" if ones else "")
    unit, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    count, rest = divmod(number, unit)
    words = f"{spell(count)} {name}"
    if not rest:
        return words
    return f"{words} and {spell(rest)}" if rest < 100 else f"{words} {spell(rest)}"


def pairs(count: int, seed: int, *, below: int = BELOW) -> list[Pair]:
    """Draw `count` different numbers under `below`, as digits and as words, in random order.

    Each length of number gets an equal share, or all it has: drawn evenly, nine in ten would have six digits.
    """
    return [(str(number), spell(number)) for number in _draw(count, random.Random(seed), below)]


def split(count: int, unseen: int, seed: int, *, below: int = BELOW) -> tuple[list[Pair], list[Pair]]:
    """Draw `count` pairs to learn from and `unseen` others to be tried on.

    Numbers under a hundred are only ever learnt from: they are the words all others are made of.
    """
    learnt: list[Pair] = []
    tried: list[Pair] = []
    for digits, words in pairs(count + unseen, seed, below=below):
        if len(tried) < unseen and int(digits) >= _WORDS_BELOW:
            tried.append((digits, words))
        else:
            learnt.append((digits, words))
    if len(tried) < unseen:
        raise ValueError(f"{count + unseen:,} numbers below {below:,} do not hold {unseen:,} of three digits or more")
    return learnt, tried


def _draw(count: int, generator: random.Random, below: int) -> list[int]:
    if not 1 <= below <= BELOW:
        raise ValueError(f"below must be from 1 to {BELOW:,}, got {below:,}")
    if not 0 <= count <= below:
        raise ValueError(f"there are {below:,} numbers below {below:,}; cannot draw {count:,} different ones")
    lengths = [range(min(10, below))]
    while lengths[-1].stop < below:
        first = lengths[-1].stop
        lengths.append(range(first, min(10 * first, below)))
    drawn: set[int] = set()
    # The scarcest first: what they cannot give, the others do.
    for position, numbers in enumerate(sorted(lengths, key=len)):
        share = min(len(numbers), (count - len(drawn)) // (len(lengths) - position))
        goal = len(drawn) + share
        while len(drawn) < goal:
            # Of `random`, only `random()` is promised to give the same numbers in every version of Python.
            drawn.add(numbers[int(generator.random() * len(numbers))])
    return sorted(sorted(drawn), key=lambda _: generator.random())

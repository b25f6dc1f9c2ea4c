"""Write the training, validation and test sets of all domains in both directions, and print their sizes.

    python recipes/domain_corpora.py FOLDER     # takes some minutes

The files have no documents, so pairs are held out by a hash of the English words. No held-out text, and no famous
sentence (`FAMOUS` in src/regard/data/synthetic/splits.py), is in the training data. FOLDER/en-fr and FOLDER/fr-en get
a training file for each domain, for the synthetic language and its minimal pairs, and for text as people type it
(`typed.tsv`); `valid.tsv`, in which the domains alternate; and a test file for each domain in `test`.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, cycle, islice, zip_longest
from pathlib import Path
from random import Random

from decontamination import HeldOut, words_of
from domains import DOMAINS, TATOEBA, TextPair, read_domain, read_pairs
from perturbations import CLOSINGS, ENGLISH, FRENCH, GREETINGS, PERTURBATIONS, letter_line, perturb

from regard.data.synthetic import is_famous
from regard.data.synthetic.generator import minimal_pairs, pairs

EVERYDAY = "everyday"  # the domain of Tatoeba
VALID_EVERYDAY = 300  # of the 1,675 validation pairs of Tatoeba
SYNTHETIC = {"train": 200_000, "valid": 100}
CONTRASTS = "minimal-pairs"
MINIMAL_PAIRS = 60_000  # of two sentence pairs each
MIN_WORDS = 3  # of a held-out sentence; shorter ones, such as "Yes.", are needed for training
SENTENCES = Path(__file__).parent / "sentences.tsv"  # the sentences of the blind comparison

# The number of perturbed pairs from each domain; a small domain gives the same pair with several changes.
TYPED = {
    EVERYDAY: 45_000,
    "debates": 25_000,
    "public-service": 12_000,
    "software": 8_000,
    "guides": 8_000,
    "stories": 4_000,
    "dialogue": 3_000,
    "statutes": 2_000,
    "language": 6_000,
}
LETTER_LINES = 3_000
DIRECTIONS = {"en-fr": ENGLISH, "fr-en": FRENCH}


def main() -> None:
    folder = Path(sys.argv[1])
    training, held_out = divide()
    held_out_texts = HeldOut([*chain.from_iterable(chain(*held_out.values())), *blind_sentences()])
    rows = []
    for name, found in training.items():
        held_out_texts.counts.clear()
        distinct = list(dict.fromkeys(found))
        kept = [pair for pair in held_out_texts.leave_out(distinct) if not any(map(is_famous, pair))]
        exact, near = (held_out_texts.counts[f"{kind}a held-out text"] for kind in ("", "nearly "))
        famous = len(distinct) - len(kept) - exact - near
        test, valid = held_out[name]
        counts = (len(kept), len(valid), len(test), len(found) - len(distinct), exact, near, famous)
        rows.append(f"| {name} | " + " | ".join(f"{count:,}" for count in counts) + " |")
        training[name] = kept
    training[CONTRASTS] = contrasts(held_out_texts)
    random = Random("letters")
    letters = list(held_out_texts.leave_out(letter_line(random, GREETINGS + CLOSINGS) for _ in range(LETTER_LINES)))
    print(f"{CONTRASTS}: {len(training[CONTRASTS]):,} sentence pairs; {len(letters):,} lines of letters")
    for direction, source in DIRECTIONS.items():
        write_direction(folder / direction, source, training, held_out)
        write(folder / direction / "typed.tsv", chain(typed(training, source), letters), source)
    print("| domain | training | validation | test | repeated | held-out text | nearly held-out | famous |")
    print("|---|---|---|---|---|---|---|---|", *rows, sep="\n")


Parts = dict[str, tuple[list[TextPair], list[TextPair]]]  # test and validation pairs of each domain


def divide() -> tuple[dict[str, list[TextPair]], Parts]:
    """Return the training pairs, still with duplicates of held-out texts, and the held-out pairs."""
    everyday = {part: list(read_pairs(TATOEBA / f"{part}.tsv.gz")) for part in ("train", "val", "test")}
    training = {EVERYDAY: everyday["train"]}
    held_out: Parts = {EVERYDAY: (everyday["test"], hold_out(everyday["val"], VALID_EVERYDAY))}
    for domain in DOMAINS:
        training[domain.name] = list(read_domain(domain))
        chosen = hold_out(training[domain.name], domain.test + domain.valid)
        held_out[domain.name] = chosen[: domain.test], chosen[domain.test :]
    sampled = {
        split: list(islice(((pair.source, pair.target) for pair in pairs(seed, split)), count))
        for seed, (split, count) in enumerate(SYNTHETIC.items(), start=1)
    }
    training["language"] = sampled["train"]
    held_out["language"] = [], sampled["valid"]
    return training, held_out


def hold_out(found: Sequence[TextPair], count: int) -> list[TextPair]:
    """Return the pairs with the smallest hashes, each English and each French text once."""
    chosen: list[TextPair] = []
    seen: set[tuple[str, ...]] = set()
    for pair in sorted(found, key=hash_pair):
        words = {words_of(text) for text in pair}
        if min(map(len, words)) >= MIN_WORDS and not words & seen and not any(map(is_famous, pair)):
            chosen.append(pair)
            seen |= words
        if len(chosen) == count:
            break
    return chosen


def hash_pair(pair: TextPair) -> tuple[bytes, TextPair]:
    return blake2b(" ".join(words_of(pair[ENGLISH])).encode(), digest_size=8).digest(), pair


def contrasts(held_out_texts: HeldOut) -> list[TextPair]:
    """Return minimal pairs, one member after the other, without pairs of which a member is a held-out text."""
    both = [
        [(pair.source, pair.target) for pair in members] for members in islice(minimal_pairs(3, "train"), MINIMAL_PAIRS)
    ]
    allowed = set(held_out_texts.leave_out(chain.from_iterable(both)))
    return [pair for members in both if allowed.issuperset(members) for pair in members]


def blind_sentences() -> list[TextPair]:
    """Return the sentences of the blind comparison; they have no translation, so both sides are the same."""
    texts = [line.split("\t")[2] for line in SENTENCES.read_text("utf-8").splitlines()[1:]]
    return list(zip(texts, texts, strict=True))


def write_direction(folder: Path, source: int, training: dict[str, list[TextPair]], held_out: Parts) -> None:
    for name, kept in training.items():
        write(folder / f"{name}.tsv", kept, source)
    for name, (test, _) in held_out.items():
        if test:
            write(folder / "test" / f"{name}.tsv", test, source)
    alternating = chain.from_iterable(zip_longest(*(valid for _, valid in held_out.values())))
    write(folder / "valid.tsv", (pair for pair in alternating if pair is not None), source)


def typed(training: dict[str, list[TextPair]], source: int) -> Iterator[TextPair]:
    """Yield pairs as people type them; each perturbation gets the same number of pairs of a domain."""
    for name, count in TYPED.items():
        random = Random(f"typed {name}")
        more = lambda random=random, name=name: random.choice(training[name])  # noqa: E731
        kinds = cycle(PERTURBATIONS)
        kind, misses, found = next(kinds), 0, 0
        while found < count:
            changed = perturb(kind, more(), source, more, random.randrange(1_000_000))
            if changed is None and misses < 200:  # try the same change of another pair
                misses += 1
                continue
            kind, misses = next(kinds), 0
            if changed is not None:
                found += 1
                yield changed


def write(path: Path, text_pairs: Iterable[TextPair], source: int) -> None:
    """Write pairs with the source first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    step = 1 if source == ENGLISH else -1
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for pair in text_pairs:
            assert not any("\n" in text or "\t" in text for text in pair), pair
            file.write("\t".join(pair[::step]) + "\n")


if __name__ == "__main__":
    main()

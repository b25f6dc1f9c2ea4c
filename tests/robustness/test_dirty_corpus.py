"""A dirty corpus: nothing crashes, every pair that is kept is right, every one that is not is listed with its line.

Each corpus is made of good pairs, numbered on both sides, and dirt of every kind in known places; what must become of
each line follows from how it was made, not from how it is read. `make test` takes a sample; the campaign
(`pytest -s -m slow tests/campaigns/test_dirty_corpus.py`) prints its result.
"""

import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from regard.data.batching.batches import batches
from regard.data.check.corpus_report import CorpusReport, check_corpora
from regard.data.formats.corpus import Corpus, corpora
from regard.data.prepare.text_store import build_text_store
from regard.data.prepare.token_store import EncodedPairs, build_token_store
from regard.errors import UserError
from regard.progress import run_to_end
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.vocabulary import train_tokenizer

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

WORDS = "the house is green and our old friend sings été où Straße один 今日は 🎉".split()  # noqa: SIM905 (readable)
LONGEST = 200
TOKENIZER = SentencePieceTokenizer(train_tokenizer(iter([" ".join(WORDS), *WORDS] * 20), kind="bpe", vocab_size=400))

# What may stand in a text and must come through unchanged.
HARMLESS = {
    "NUL": "\0",
    "U+0085": "\u0085",
    "U+2028": "\u2028",
    "U+2029": "\u2029",
    "VT": "\x0b",
    "FF": "\x0c",
    "CR inside": "\r",
    "BOM inside": "\ufeff",
    "escape": "\x1b[31m",
    "direction mark": "\u202e",
    "U+FFFD": "\ufffd",
    "no-break space": "\u00a0",
    "U+2581": "\u2581",
    "unassigned": "\U000e0fff",
}
# Bytes that make a line unreadable.
BAD_BYTES = {
    "bad UTF-8": [b"\xff", b"\x80", b"\xc3(", b"\xe2\x82", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\xe9t\xe9"],
    "lone surrogate": [b"\xed\xa0\x80", b"\xed\xbf\xbf"],
}
EMPTY = ["", " ", "\t", "\u2003\u2028", "\r", "\x0c"]


@dataclass(frozen=True)
class Line:
    """One line of each file, and what must become of it: two texts, or the side and reason for leaving it out."""

    raw: tuple[bytes, bytes]
    texts: tuple[str, str]
    dropped: tuple[int, str] | None = None
    kind: str = ""


@dataclass
class Tried:
    """What a campaign has seen."""

    corpora: int = 0
    lines: int = 0
    kept: int = 0
    dirt: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)


def make_line(numbers: random.Random, index: int, *, tsv: bool) -> Line:
    """A good line mostly; else one with dirt of one kind on one side."""
    texts = [
        f"{index} " + " ".join(numbers.choices(WORDS, k=numbers.randint(1, 9))) + f" {'st'[side]}" for side in (0, 1)
    ]
    good = Line((texts[0].encode(), texts[1].encode()), (texts[0], texts[1]))
    dice = numbers.random()
    side = 1 if tsv and 0.86 <= dice < 0.90 else numbers.randrange(2)  # where the two sides share a line, it ends once

    def with_side(raw: bytes, text: str, dropped: str | None, kind: str) -> Line:
        raws, both = list(good.raw), list(good.texts)
        raws[side], both[side] = raw, text
        return Line((raws[0], raws[1]), (both[0], both[1]), None if dropped is None else (side, dropped), kind)

    name = ("source", "target")[side]
    if dice < 0.6:
        return good
    if dice < 0.8:
        kind = numbers.choice(list(HARMLESS))
        place = numbers.randrange(1, len(texts[side]))
        text = texts[side][:place] + HARMLESS[kind] + texts[side][place:]
        return with_side(text.encode(), text, None, kind)
    if dice < 0.86:
        text = numbers.choice([one for one in EMPTY if not tsv or "\t" not in one])
        return with_side(text.encode() + (b"\r" if text == "\r" else b""), text, f"{name} empty", "empty")
    if dice < 0.90:
        return with_side(good.raw[side] + b"\r", texts[side], None, "CRLF")
    if dice < 0.905:
        size = numbers.choice([LONGEST * 4, 10_000])
        return with_side(b"x" * size, "x" * size, f"{name} too long", "long line")
    if dice < 0.96:
        kind = numbers.choice(list(BAD_BYTES))
        bad = numbers.choice(BAD_BYTES[kind])
        place = numbers.randrange(len(good.raw[side]) + 1)
        place = len(good.raw[side][:place].decode(errors="ignore").encode())  # between two characters
        return with_side(good.raw[side][:place] + bad + good.raw[side][place:], "", "not UTF-8", kind)
    return good


def make_lines(seed: int, count: int, *, tsv: bool = False) -> list[Line]:
    """A corpus; a megabyte on one line, and more than any line may have on another."""
    numbers = random.Random(seed)
    lines = [make_line(numbers, index, tsv=tsv) for index in range(count)]
    for size, reason in ((1_000_000, "source too long"), (1 << 20, "line too long")):
        place = numbers.randrange(count)
        lines[place] = Line((b"y" * size, b"1 MB"), ("y" * size, "1 MB"), (0, reason), "1 MB line")
    return lines


def write_aligned(folder: Path, lines: list[Line]) -> Corpus:
    paths = folder / "dirty.en", folder / "dirty.fr"
    for side, path in enumerate(paths):
        mark = b"\xef\xbb\xbf" if side else b""
        path.write_bytes(mark + b"".join(line.raw[side] + b"\n" for line in lines))
    return Corpus(paths)


def write_tsv(folder: Path, lines: list[Line], pack: Callable[[bytes], bytes] = bytes, end: str = "") -> Corpus:
    path = folder / f"dirty.tsv{end}"
    path.write_bytes(pack(b"".join(line.raw[0] + b"\t" + line.raw[1] + b"\n" for line in lines)))
    return Corpus((path,))


def write_jsonl(folder: Path, lines: list[Line]) -> Corpus:
    """As JSON has no bad bytes, halves of surrogates stand for them."""
    path = folder / "dirty.jsonl"
    with path.open("wb") as file:
        for line in lines:
            texts = list(line.texts)
            if line.dropped is not None and line.dropped[1] == "not UTF-8":
                texts[line.dropped[0]] = "\ud800"
            file.write(json.dumps({"source": texts[0], "target": texts[1]}).encode() + b"\n")
    return Corpus((path,))


def try_corpus(folder: Path, corpus: Corpus, lines: list[Line], reasons: dict[str, str], tried: Tried) -> None:
    """Prepare a corpus as training does, and hold what comes out against how it was made."""
    valid = folder / "valid.tsv"
    valid.write_text("a\tb\n", "utf-8")
    texts = run_to_end(build_text_store(folder / "texts", [corpus], [Corpus((valid,))], seed=1))
    shards = run_to_end(build_token_store(folder / "ids", texts, TOKENIZER, longest=LONGEST))

    kept = {number: line for number, line in enumerate(lines, start=1) if line.dropped is None}
    assert shards.train.lines[:, 1].tolist() == list(kept)
    for index, line in enumerate(kept.values()):
        ids = [side(index)[:-1].tolist() for side in (shards.train.source, shards.train.target)]
        assert TOKENIZER.decode(ids) == list(line.texts)

    expected = [
        f"{corpus.paths[line.dropped[0] if len(corpus.paths) == 2 else 0].name}\t{number}\t"
        f"{reasons.get(line.dropped[1], line.dropped[1])}"
        for number, line in enumerate(lines, start=1)
        if line.dropped is not None
    ]
    listed = (folder / "ids" / "dropped.tsv").read_text("utf-8").split("\n")[1:-1]
    assert sorted(listed) == sorted(expected)
    assert sum(shards.dropped.values()) == len(expected)
    _every_batch_is_aligned(shards.train, list(kept.values()))
    _the_report_agrees(run_to_end(check_corpora([corpus])), lines)

    tried.corpora += 1
    tried.lines += len(lines)
    tried.kept += len(kept)
    tried.dirt.update(line.kind for line in lines if line.kind)
    tried.dropped.update(line.rpartition("\t")[2] for line in listed)


def _every_batch_is_aligned(shard: EncodedPairs, kept: list[Line]) -> None:
    """What an epoch learns from are the pairs that were kept, each once."""
    seen: list[tuple[str, ...]] = []
    for batch, position in batches(shard, tokens=4 * LONGEST, seed=1):
        rows = zip(batch.source_BS, batch.target_BT, strict=True)
        seen += [tuple(TOKENIZER.decode([ids[ids > EOS].tolist() for ids in both])) for both in rows]
        if position.epoch:
            break
    assert sorted(seen) == sorted(line.texts for line in kept)


def _the_report_agrees(report: CorpusReport, lines: list[Line]) -> None:
    counts = {finding.kind: finding.count for finding in report.findings}
    reasons = Counter(line.dropped[1] for line in lines if line.dropped is not None)
    assert counts.get("unreadable", 0) == reasons["not UTF-8"] + reasons["line too long"]
    for kind in ("source empty", "target empty"):
        assert counts.get(kind, 0) == reasons[kind]
    separators = {"\u0085", "\u2028", "\u2029"}
    readable = [line for line in lines if line.dropped is None or line.dropped[1] not in ("not UTF-8", "line too long")]
    assert counts.get("line separators", 0) == sum(bool(separators & set(t)) for line in readable for t in line.texts)


def formats(seed: int, count: int) -> Iterator[tuple[str, Callable[[Path], Corpus], list[Line], dict[str, str]]]:
    any_text, no_tabs = make_lines(seed, count), make_lines(seed, count, tsv=True)
    jsonl = [line for line in any_text if line.dropped != (0, "line too long")]
    yield "aligned", lambda folder: write_aligned(folder, any_text), any_text, {}
    yield "tsv", lambda folder: write_tsv(folder, no_tabs), no_tabs, {}
    yield "tsv.gz", lambda folder: write_tsv(folder, no_tabs, gzip.compress, ".gz"), no_tabs, {}
    yield "tsv.zst", lambda folder: write_tsv(folder, no_tabs, zstd.compress, ".zst"), no_tabs, {}
    yield "jsonl", lambda folder: write_jsonl(folder, jsonl), jsonl, {"not UTF-8": "half a character"}


def campaign(folder: Path, seeds: range, count: int) -> Tried:
    tried = Tried()
    for seed in seeds:
        for name, write, lines, reasons in formats(seed, count):
            place = folder / f"{seed}-{name}"
            place.mkdir()
            try_corpus(place, write(place), lines, reasons, tried)
    return tried


def mismatches(folder: Path, sizes: range) -> int:
    """How many files that differ by so many lines, either way, are refused."""
    seen = 0
    for more in sizes:
        for source, target in ((30, 30 + more), (30 + more, 30)):
            paths = [folder / "a.en", folder / "a.fr"]
            paths[0].write_bytes(b"x\n" * source)
            paths[1].write_bytes(b"y\n" * target)
            with pytest.raises(UserError, match=f"has {source}, .* has {target};"):
                run_to_end(check_corpora(corpora(paths)))
            seen += 1
    return seen


def test_a_sample_of_dirty_corpora(tmp_path: Path) -> None:
    tried = campaign(tmp_path, range(1), 300)
    assert tried.corpora == 5
    assert tried.kept > 1000
    assert {"not UTF-8", "half a character", "line too long", "source too long", "source empty", "target empty"} <= (
        tried.dropped.keys()
    )


def test_files_of_unequal_length_are_always_seen(tmp_path: Path) -> None:
    assert mismatches(tmp_path, range(1, 11)) == 20


@pytest.mark.parametrize("both", [True, False])
def test_files_whose_lines_end_in_carriage_returns_are_explained(tmp_path: Path, both: bool) -> None:
    paths = [tmp_path / "a.en", tmp_path / "a.fr"]
    paths[0].write_bytes(b"one\rtwo\rthree\r")
    paths[1].write_bytes(b"un\rdeux\rtrois\r" if both else b"un\ndeux\ntrois\n")
    if both:
        (finding,) = [f for f in run_to_end(check_corpora(corpora(paths))).findings if f.kind == "control characters"]
        assert finding.count == 2
    else:
        with pytest.raises(UserError, match=r"a\.en has 1, .*a\.fr has 3"):
            run_to_end(check_corpora(corpora(paths)))


@pytest.mark.slow
def test_campaign(tmp_path: Path) -> None:
    tried = campaign(tmp_path, range(1, 21), 3_000)
    refused = mismatches(tmp_path, range(1, 11))
    kinds = {"dirt": tried.dirt, "left out": tried.dropped}
    listed = {name: ", ".join(f"{kind} {n:,}" for kind, n in sorted(found.items())) for name, found in kinds.items()}
    print(f"\n{tried.corpora} dirty corpora, {tried.lines:,} lines; dirt: {listed['dirt']}")
    print(f"0 crashes; {tried.kept:,} pairs kept, all aligned and unchanged")
    print(f"{tried.dropped.total():,} left out, each listed with file and line: {listed['left out']}")
    print(f"files that differ by 1 to 10 lines, either way: {refused} of 20 refused")
    assert (tried.corpora, refused) == (100, 20)
    assert len(tried.dirt) == len(HARMLESS) + len(BAD_BYTES) + 4

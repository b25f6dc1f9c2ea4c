"""Dirty corpora: nothing crashes, every pair that is kept is unchanged, and every other pair is listed with its line.

Each corpus has clean pairs, numbered on both sides, and every kind of dirt in known places, so the expected result of
each line is known from how it was generated. `make test` runs a small sample; the full campaign
(`pytest -s -m slow tests/robustness/test_dirty_corpus.py`) prints its result.
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
MAX_POSITIONS = 200
TOKENIZER = SentencePieceTokenizer(train_tokenizer(iter([" ".join(WORDS), *WORDS] * 20), kind="bpe", vocab_size=400))

# Characters that are allowed in a text and must be kept unchanged.
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
    "direction override": "\u202e",
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
    """One line of each file and its expected result: two texts, or the side and the reason for leaving it out."""

    raw: tuple[bytes, bytes]
    texts: tuple[str, str]
    dropped: tuple[int, str] | None = None
    kind: str = ""


@dataclass
class Totals:
    """The totals of a campaign."""

    corpora: int = 0
    lines: int = 0
    kept: int = 0
    dirt: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)


def make_line(generator: random.Random, index: int, *, tsv: bool) -> Line:
    """Return a clean line (in most cases), or one with one kind of dirt on one side."""
    texts = [
        f"{index} " + " ".join(generator.choices(WORDS, k=generator.randint(1, 9))) + f" {'st'[side]}"
        for side in (0, 1)
    ]
    clean = Line((texts[0].encode(), texts[1].encode()), (texts[0], texts[1]))
    number = generator.random()
    # A TSV has both sides on one line, so only the target can end in a carriage return.
    side = 1 if tsv and 0.86 <= number < 0.90 else generator.randrange(2)

    def with_side(raw: bytes, text: str, dropped: str | None, kind: str) -> Line:
        raws, texts = list(clean.raw), list(clean.texts)
        raws[side], texts[side] = raw, text
        return Line((raws[0], raws[1]), (texts[0], texts[1]), None if dropped is None else (side, dropped), kind)

    name = ("source", "target")[side]
    if number < 0.6:
        return clean
    if number < 0.8:
        kind = generator.choice(list(HARMLESS))
        position = generator.randrange(1, len(texts[side]))
        text = texts[side][:position] + HARMLESS[kind] + texts[side][position:]
        return with_side(text.encode(), text, None, kind)
    if number < 0.86:
        text = generator.choice([empty for empty in EMPTY if not tsv or "\t" not in empty])
        return with_side(text.encode() + (b"\r" if text == "\r" else b""), text, f"{name} empty", "empty")
    if number < 0.90:
        return with_side(clean.raw[side] + b"\r", texts[side], None, "CRLF")
    if number < 0.905:
        size = generator.choice([MAX_POSITIONS * 4, 10_000])
        return with_side(b"x" * size, "x" * size, f"{name} too long", "long line")
    if number < 0.96:
        kind = generator.choice(list(BAD_BYTES))
        bad = generator.choice(BAD_BYTES[kind])
        position = generator.randrange(len(clean.raw[side]) + 1)
        position = len(clean.raw[side][:position].decode(errors="ignore").encode())  # between two characters
        return with_side(clean.raw[side][:position] + bad + clean.raw[side][position:], "", "not UTF-8", kind)
    return clean


def make_lines(seed: int, count: int, *, tsv: bool = False) -> list[Line]:
    """Return the lines of a corpus, one of them with a megabyte, and one longer than the limit for lines."""
    generator = random.Random(seed)
    lines = [make_line(generator, index, tsv=tsv) for index in range(count)]
    for size, reason in ((1_000_000, "source too long"), (1 << 20, "line too long")):
        position = generator.randrange(count)
        lines[position] = Line((b"y" * size, b"1 MB"), ("y" * size, "1 MB"), (0, reason), "1 MB line")
    return lines


def write_aligned(folder: Path, lines: list[Line]) -> Corpus:
    paths = folder / "dirty.en", folder / "dirty.fr"
    for side, path in enumerate(paths):
        byte_order_mark = b"\xef\xbb\xbf" if side else b""
        path.write_bytes(byte_order_mark + b"".join(line.raw[side] + b"\n" for line in lines))
    return Corpus(paths)


def write_tsv(folder: Path, lines: list[Line], compress: Callable[[bytes], bytes] = bytes, suffix: str = "") -> Corpus:
    path = folder / f"dirty.tsv{suffix}"
    path.write_bytes(compress(b"".join(line.raw[0] + b"\t" + line.raw[1] + b"\n" for line in lines)))
    return Corpus((path,))


def write_jsonl(folder: Path, lines: list[Line]) -> Corpus:
    """Write JSON Lines, with lone surrogates in place of bad bytes, which JSON cannot contain."""
    path = folder / "dirty.jsonl"
    with path.open("wb") as file:
        for line in lines:
            texts = list(line.texts)
            if line.dropped is not None and line.dropped[1] == "not UTF-8":
                texts[line.dropped[0]] = "\ud800"
            file.write(json.dumps({"source": texts[0], "target": texts[1]}).encode() + b"\n")
    return Corpus((path,))


def check_corpus(folder: Path, corpus: Corpus, lines: list[Line], reasons: dict[str, str], totals: Totals) -> None:
    """Prepare a corpus as training does, and compare the result with the expected one."""
    valid = folder / "valid.tsv"
    valid.write_text("a\tb\n", "utf-8")
    texts = run_to_end(build_text_store(folder / "texts", [corpus], [Corpus((valid,))], seed=1))
    encoded = run_to_end(build_token_store(folder / "ids", texts, TOKENIZER, max_positions=MAX_POSITIONS))

    kept = {number: line for number, line in enumerate(lines, start=1) if line.dropped is None}
    assert encoded.train.lines[:, 1].tolist() == list(kept)
    for index, line in enumerate(kept.values()):
        ids = [side[index][:-1].tolist() for side in (encoded.train.source, encoded.train.target)]
        assert TOKENIZER.decode(ids) == list(line.texts)

    expected = [
        f"{corpus.paths[line.dropped[0] if len(corpus.paths) == 2 else 0].name}\t{number}\t"
        f"{reasons.get(line.dropped[1], line.dropped[1])}"
        for number, line in enumerate(lines, start=1)
        if line.dropped is not None
    ]
    listed = (folder / "ids" / "dropped.tsv").read_text("utf-8").split("\n")[1:-1]
    assert sorted(listed) == sorted(expected)
    assert sum(encoded.dropped.values()) == len(expected)
    _check_batches(encoded.train, list(kept.values()))
    _check_report(run_to_end(check_corpora([corpus])), lines)

    totals.corpora += 1
    totals.lines += len(lines)
    totals.kept += len(kept)
    totals.dirt.update(line.kind for line in lines if line.kind)
    totals.dropped.update(line.rpartition("\t")[2] for line in listed)


def _check_batches(pairs: EncodedPairs, kept: list[Line]) -> None:
    """Check that an epoch contains each pair that was kept exactly once, with its sides aligned."""
    seen: list[tuple[str, ...]] = []
    for batch, position in batches(pairs, tokens=4 * MAX_POSITIONS, seed=1):
        rows = zip(batch.source.values, batch.target.values, strict=True)
        seen += [tuple(TOKENIZER.decode([ids[ids > EOS].tolist() for ids in sides])) for sides in rows]
        if position.epoch:
            break
    assert sorted(seen) == sorted(line.texts for line in kept)


def _check_report(report: CorpusReport, lines: list[Line]) -> None:
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


def run_campaign(folder: Path, seeds: range, count: int) -> Totals:
    totals = Totals()
    for seed in seeds:
        for name, write, lines, reasons in formats(seed, count):
            subfolder = folder / f"{seed}-{name}"
            subfolder.mkdir()
            check_corpus(subfolder, write(subfolder), lines, reasons, totals)
    return totals


def refused_mismatches(folder: Path, differences: range) -> int:
    """Check that files with different numbers of lines are refused; return the number of cases."""
    refused = 0
    for difference in differences:
        for source, target in ((30, 30 + difference), (30 + difference, 30)):
            paths = [folder / "a.en", folder / "a.fr"]
            paths[0].write_bytes(b"x\n" * source)
            paths[1].write_bytes(b"y\n" * target)
            with pytest.raises(UserError, match=f"has {source}, .* has {target};"):
                run_to_end(check_corpora(corpora(paths)))
            refused += 1
    return refused


def test_a_sample_of_dirty_corpora_is_handled_correctly(tmp_path: Path) -> None:
    totals = run_campaign(tmp_path, range(1), 300)
    assert totals.corpora == 5
    assert totals.kept > 1000
    assert {"not UTF-8", "half a character", "line too long", "source too long", "source empty", "target empty"} <= (
        totals.dropped.keys()
    )


def test_files_of_unequal_length_are_refused(tmp_path: Path) -> None:
    assert refused_mismatches(tmp_path, range(1, 11)) == 20


@pytest.mark.parametrize("in_both_files", [True, False])
def test_files_whose_lines_end_in_carriage_returns_are_reported(tmp_path: Path, in_both_files: bool) -> None:
    paths = [tmp_path / "a.en", tmp_path / "a.fr"]
    paths[0].write_bytes(b"one\rtwo\rthree\r")
    paths[1].write_bytes(b"un\rdeux\rtrois\r" if in_both_files else b"un\ndeux\ntrois\n")
    if in_both_files:
        (finding,) = [f for f in run_to_end(check_corpora(corpora(paths))).findings if f.kind == "control characters"]
        assert finding.count == 2
    else:
        with pytest.raises(UserError, match=r"a\.en has 1, .*a\.fr has 3"):
            run_to_end(check_corpora(corpora(paths)))


@pytest.mark.slow
def test_a_campaign_of_dirty_corpora_is_handled_correctly(tmp_path: Path) -> None:
    totals = run_campaign(tmp_path, range(1, 21), 3_000)
    refused = refused_mismatches(tmp_path, range(1, 11))
    kinds = {"dirt": totals.dirt, "left out": totals.dropped}
    listed = {name: ", ".join(f"{kind} {n:,}" for kind, n in sorted(counts.items())) for name, counts in kinds.items()}
    print(f"\n{totals.corpora} dirty corpora, {totals.lines:,} lines; dirt: {listed['dirt']}")
    print(f"0 crashes; {totals.kept:,} pairs kept, all of them aligned and unchanged")
    print(f"{totals.dropped.total():,} pairs left out, each listed with its file and line: {listed['left out']}")
    print(f"pairs of files whose numbers of lines differ by 1 to 10: {refused} of 20 refused")
    assert (totals.corpora, refused) == (100, 20)
    assert len(totals.dirt) == len(HARMLESS) + len(BAD_BYTES) + 4

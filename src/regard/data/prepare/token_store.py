"""The token store: the pairs of a run as token ids on disk, read through memory maps.

The folder is written completely or not at all, and reused if nothing has changed. Pairs that cannot be trained on are
left out, counted and listed. `build_token_store` is a generator that yields progress and returns the encoded corpus.
"""

import hashlib
from bisect import bisect_right
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from regard.data.formats.records import SIDES, Side
from regard.data.prepare.ragged import Ragged, RaggedWriter, map_file
from regard.data.prepare.text_store import UNREADABLE, TextPairs, TextStore
from regard.errors import DataError
from regard.progress import Progress, Work
from regard.spans.training import mask_pair
from regard.storage import atomic_files, json_files, manifest
from regard.storage.manifest import is_up_to_date, write_folder_manifest
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS

_FORMAT = 2

_MASK_FORMAT = 2  # of the rules that put placeholders into training pairs

MaskedPairs = dict[int, tuple[str, str]]  # some pairs of a block with placeholders, by their index in the block


class EncodedPairs:
    """The pairs of one split as token ids; all texts end in EOS. `lines` has corpus and line number of each pair."""

    def __init__(self, folder: Path, dtype: str) -> None:
        self.lines: NDArray[np.int64] = map_file(folder / "lines", "int64").reshape(-1, 2)
        self.source, self.target = (Ragged.open(folder, side, dtype) for side in SIDES)

    def __len__(self) -> int:
        return len(self.lines)

    def corpus_sizes(self, corpora: int) -> list[int]:
        """Return the number of pairs of each corpus; the pairs of a corpus are contiguous."""
        ends = [bisect_right(self.lines[:, 0], number) for number in range(corpora)]
        return [end - start for start, end in pairwise([0, *ends])]


class EncodedCorpus:
    """All pairs of a run as token ids.

    `dropped` has the number of pairs that were left out, for each reason; the file `dropped.tsv` lists these pairs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        info = json_files.read_json(folder / "info.json")
        self.dropped: dict[str, int] = info["dropped"]
        self.train = EncodedPairs(folder / "train", info["type"])
        self.valid = EncodedPairs(folder / "valid", info["type"])


def build_token_store(
    folder: Path,
    texts: TextStore,
    tokenizer: SentencePieceTokenizer,
    *,
    max_positions: int,
    mask_seed: int | None = None,
) -> Work[EncodedCorpus]:
    """Write the pairs of `texts` as token ids to `folder`.

    Pairs are left out if one of their texts is empty or has more than `max_positions` tokens. With a `mask_seed`, the
    placeholders of the vocabulary stand for spans in some training pairs; the seed decides in which.
    """
    wanted = {
        "format": _FORMAT,
        "texts": manifest.sha256(texts.folder / "manifest.json"),
        "tokenizer": hashlib.sha256(tokenizer.data).hexdigest(),
        "max_positions": max_positions,
        "type": "uint16" if tokenizer.embedding_rows <= 1 << 16 else "uint32",
    }
    if mask_seed is not None and tokenizer.placeholders:
        wanted["masks"] = {"format": _MASK_FORMAT, "seed": mask_seed}
    if is_up_to_date(folder, wanted):
        return EncodedCorpus(folder)
    total = len(texts.train) + len(texts.valid)
    done = 0
    dropped: Counter[str] = Counter()
    with atomic_files.new_folder(folder) as new:
        with (new / "dropped.tsv").open("w", encoding="utf-8", newline="\n") as listing:
            listing.write("file\tline\treason\n")
            dropped += _list_unreadable(texts, listing)
            for split, pairs in (("train", texts.train), ("valid", texts.valid)):
                with ExitStack() as stack:
                    writer = _PairWriter(new / split, str(wanted["type"]), listing, stack)
                    for start, stop in pairs.blocks():
                        masked = _mask(pairs, start, stop, tokenizer, mask_seed) if split == "train" else {}
                        writer.write(pairs, start, stop, tokenizer, max_positions, masked)
                        yield Progress("encoding", done + stop, total)
                done += len(pairs)
                if writer.dropped.total() == len(pairs):
                    raise DataError(_explain_empty_split(split, writer.dropped, max_positions))
                dropped += writer.dropped
        json_files.write_json(new / "info.json", {**wanted, "dropped": dict(sorted(dropped.items()))})
        write_folder_manifest(new)
    return EncodedCorpus(folder)


def _list_unreadable(texts: TextStore, listing: TextIO) -> Counter[str]:
    """Copy the list of invalid records to `listing`, and return the number of records for each reason."""
    dropped: Counter[str] = Counter()
    with (texts.folder / UNREADABLE).open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            listing.write(line)
            dropped[line.rstrip("\n").rpartition("\t")[2]] += 1
    return dropped


def _explain_empty_split(split: str, dropped: Counter[str], max_positions: int) -> str:
    name = {"train": "training", "valid": "validation"}[split]
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(dropped.items()))
    return (
        f"no {name} pairs are left ({reasons}); fill empty lines, split long texts into sentences, or allow more than "
        f"{max_positions:,} tokens with --set model.max_positions=…"
    )


def _mask(pairs: TextPairs, start: int, stop: int, tokenizer: SentencePieceTokenizer, seed: int | None) -> MaskedPairs:
    """Return the pairs from `start` to `stop` that get placeholders."""
    if seed is None or not tokenizer.placeholders:
        return {}
    texts = [pairs.texts(side, start, stop) for side in SIDES]
    masked = (
        mask_pair(source, target, tokenizer.placeholders, f"{seed} {number}")
        for number, (source, target) in enumerate(zip(*texts, strict=True), start)
    )
    return {row: pair for row, pair in enumerate(masked) if pair is not None}


class _PairWriter:
    """A writer of the files that `EncodedPairs` reads."""

    def __init__(self, folder: Path, dtype: str, listing: TextIO, stack: ExitStack) -> None:
        folder.mkdir()
        self._sides = tuple(RaggedWriter(folder, side, dtype, stack) for side in SIDES)
        self._lines = stack.enter_context((folder / "lines").open("wb"))
        self._listing = listing
        self.dropped: Counter[str] = Counter()

    def write(
        self,
        pairs: TextPairs,
        start: int,
        stop: int,
        tokenizer: SentencePieceTokenizer,
        max_positions: int,
        masked: MaskedPairs,
    ) -> None:
        """Encode the pairs from `start` to `stop` and write those that can be trained on; list and count the rest."""
        texts = [pairs.texts(side, start, stop) for side in SIDES]
        ids = [tokenizer.encode(lines) for lines in texts]
        kept = []
        for row, problem in enumerate(_problems(texts, ids, max_positions)):
            if problem is None:
                kept.append(row)
            else:
                side, reason = problem
                file, line = pairs.origin(start + row, side)
                self._listing.write(f"{file}\t{line}\t{side} {reason}\n")
                self.dropped[f"{side} {reason}"] += 1
        _replace_masked(ids, masked, tokenizer, max_positions)
        for writer, encoded in zip(self._sides, ids, strict=True):
            writer.write([[*encoded[row], EOS] for row in kept])
        self._lines.write(pairs.lines(start, stop)[kept].tobytes())


def _replace_masked(
    ids: list[list[list[int]]], masked: MaskedPairs, tokenizer: SentencePieceTokenizer, max_positions: int
) -> None:
    """Replace the token ids of the pairs that get placeholders, unless the pair with placeholders is too long."""
    sides = [tokenizer.encode_masked([pair[side] for pair in masked.values()]) for side in (0, 1)]
    for row, source, target in zip(masked, *sides, strict=True):
        if max(len(source), len(target)) < max_positions:
            ids[0][row], ids[1][row] = source, target


def trainable_texts(
    pairs: TextPairs, tokenizer: SentencePieceTokenizer, *, max_positions: int, limit: int
) -> list[tuple[str, str]]:
    """Return the first `limit` pairs in which no text is empty or too long."""
    trainable: list[tuple[str, str]] = []
    for start, stop in pairs.blocks():
        texts = [pairs.texts(side, start, stop) for side in SIDES]
        ids = [tokenizer.encode(lines) for lines in texts]
        problems = _problems(texts, ids, max_positions)
        trainable += (
            (source, target) for source, target, problem in zip(*texts, problems, strict=True) if problem is None
        )
        if len(trainable) >= limit:
            break
    return trainable[:limit]


def _problems(texts: list[list[str]], ids: list[list[list[int]]], max_positions: int) -> list[tuple[Side, str] | None]:
    """Return for each pair the side that has a problem and the reason, or None if the pair can be trained on."""
    lengths = [[len(tokens) + 1 for tokens in side] for side in ids]  # one more for EOS
    return [
        _problem(pair, pair_lengths, max_positions)
        for pair, pair_lengths in zip(zip(*texts, strict=True), zip(*lengths, strict=True), strict=True)
    ]


def _problem(texts: tuple[str, str], lengths: tuple[int, int], max_positions: int) -> tuple[Side, str] | None:
    for side, text in zip(SIDES, texts, strict=True):
        if not text or text.isspace():
            return side, "empty"
    for side, length in zip(SIDES, lengths, strict=True):
        if length > max_positions:
            return side, "too long"
    return None

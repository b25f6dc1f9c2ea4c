"""Pairs into files: a TSV that `train` reads, and beside it, if asked for, the truth as JSON, a line for each pair.

Many pairs are made in blocks, each a stream with a seed of its own, so that all cores can make some at once.
"""

import json
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path

from regard.data.synthetic.generator import pairs
from regard.data.synthetic.grammar.realization import Pair
from regard.errors import UserError
from regard.machine.cpu import cpu_count
from regard.storage.atomic_files import sync

BLOCK = 5_000

_MOST_WORKERS = 61  # Windows waits for no more processes at once

Lines = tuple[str, ...]  # for the TSV, and for the truth


def lines(pair: Pair, *, truth: bool = False) -> Lines:
    """What the files say of a pair."""
    text = f"{pair.source}\t{pair.target}\n"
    return (text, json.dumps(asdict(pair.truth), ensure_ascii=False) + "\n") if truth else (text,)


def many(count: int, seed: int, split: str, *, truth: bool = False) -> Iterator[Lines]:
    """The lines of so many pairs. The first block is the beginning of `pairs(seed, split)`."""
    if count <= BLOCK:
        return (lines(pair, truth=truth) for pair in islice(pairs(seed, split), count))
    pairs(seed, split)  # a split that does not exist is refused here
    return chain.from_iterable(_blocks(partial(_block, count, seed, split, truth), -(-count // BLOCK)))


def _blocks(make: Callable[[int], list[Lines]], count: int) -> Iterator[list[Lines]]:
    """Blocks in order, each made by some process; only a few wait to be written."""
    workers = min(cpu_count(), count, _MOST_WORKERS)
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_leave_interrupts_to_us)
    try:
        blocks = iter(range(count))
        waiting = deque(pool.submit(make, block) for block in islice(blocks, 2 * workers))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(make, block) for block in islice(blocks, 1))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _block(count: int, seed: int, split: str, truth: bool, block: int) -> list[Lines]:
    # No other seed that a person would choose comes near.
    stream = pairs(seed + (block << 64), split)
    return [lines(pair, truth=truth) for pair in islice(stream, min(BLOCK, count - block * BLOCK))]


def _leave_interrupts_to_us() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def export(path: Path, found: Iterable[Lines], *, truth: bool = False) -> list[Path]:
    """Write all of `found`, and return the files. They appear when they are whole."""
    if path.suffix != ".tsv":
        raise UserError(f"{path}: give a name that ends in .tsv, such as {path.with_suffix('.tsv').name}")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; make it first")
    paths = [path, path.with_suffix(".jsonl")] if truth else [path]
    drafts = [one.with_name(one.name + ".tmp") for one in paths]
    with ExitStack() as stack:
        files = [stack.enter_context(draft.open("w", encoding="utf-8", newline="\n")) for draft in drafts]
        for row in found:
            for file, line in zip(files, row, strict=True):
                file.write(line)
    for draft, final in zip(drafts, paths, strict=True):
        sync(draft)
        draft.replace(final)
    sync(path.parent)
    return paths

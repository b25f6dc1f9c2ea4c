"""Write sentence pairs to a TSV file that `regard train` reads, and optionally their annotations to a JSONL file.

More than `BLOCK` pairs are generated in blocks by several processes. Each block has its own seed.
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

BLOCK = 5_000  # number of sentence pairs in a block

_MAX_WORKERS = 61  # maximum number of worker processes; Windows cannot wait for more

Lines = tuple[str, ...]  # the lines of one sentence pair: a TSV line, and a JSONL line if there are annotations


def format_pair(pair: Pair, *, annotations: bool = False) -> Lines:
    """Return the TSV line of a sentence pair, and with `annotations` also the JSONL line of its annotations."""
    text = f"{pair.source}\t{pair.target}\n"
    return (text, json.dumps(asdict(pair.annotations), ensure_ascii=False) + "\n") if annotations else (text,)


def generate_lines(count: int, seed: int, split: str, *, annotations: bool = False) -> Iterator[Lines]:
    """Return an iterator over the lines of `count` sentence pairs.

    The first `BLOCK` pairs are the first pairs of `pairs(seed, split)`. The other blocks have other seeds.
    """
    if count <= BLOCK:
        return (format_pair(pair, annotations=annotations) for pair in islice(pairs(seed, split), count))
    pairs(seed, split)  # raises an error if there is no such split, before any process starts
    return chain.from_iterable(_blocks(partial(_block, count, seed, split, annotations), -(-count // BLOCK)))


def _blocks(make: Callable[[int], list[Lines]], count: int) -> Iterator[list[Lines]]:
    """Yield `count` blocks in order, while worker processes already generate the next ones."""
    workers = min(cpu_count(), count, _MAX_WORKERS)
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_ignore_interrupts)
    try:
        blocks = iter(range(count))
        pending = deque(pool.submit(make, block) for block in islice(blocks, 2 * workers))
        while pending:
            yield pending.popleft().result()
            pending.extend(pool.submit(make, block) for block in islice(blocks, 1))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _block(count: int, seed: int, split: str, annotations: bool, block: int) -> list[Lines]:
    # The seeds of all blocks but the first are much larger than any seed that a user would choose.
    stream = pairs(seed + (block << 64), split)
    return [format_pair(pair, annotations=annotations) for pair in islice(stream, min(BLOCK, count - block * BLOCK))]


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker process, so that only the main process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def write_files(path: Path, rows: Iterable[Lines], *, annotations: bool = False) -> list[Path]:
    """Write the TSV file `path`, and with `annotations` also a JSONL file next to it. Return the paths of the files.

    Each item of `rows` has the lines of one sentence pair. The files get their final names only when they are complete.
    """
    if path.suffix != ".tsv":
        raise UserError(f"{path}: give a name that ends in .tsv, such as {path.with_suffix('.tsv').name}")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; make it first")
    paths = [path, path.with_suffix(".jsonl")] if annotations else [path]
    for final in paths:
        if final.exists():
            raise UserError(f"{final} already exists; choose another --out")
    partial_paths = [final.with_name(final.name + ".tmp") for final in paths]
    with ExitStack() as stack:
        files = [
            stack.enter_context(partial_path.open("w", encoding="utf-8", newline="\n"))
            for partial_path in partial_paths
        ]
        for row in rows:
            for file, line in zip(files, row, strict=True):
                file.write(line)
    for partial_path, final in zip(partial_paths, paths, strict=True):
        sync(partial_path)
        partial_path.replace(final)
    sync(path.parent)
    return paths

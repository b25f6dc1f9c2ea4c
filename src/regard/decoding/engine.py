"""Translating with CTranslate2, without torch. The text is the one the torch road writes; only the time differs.

The engine searches by the same rule if asked the right way: K hypotheses without its own length penalty, ranked here
by the paper's. Its one limit of length is for a whole batch, so a text that reaches its own is searched again with it.
"""

import os
from pathlib import Path

import ctranslate2

from regard.data.tokenizer import END, Tokenizer
from regard.decoding.hypothesis import Hypothesis, length_penalty, ranked
from regard.decoding.translation import TextTranslator
from regard.settings import DecodeSettings

# Exactly zero would also change when the engine stops; n to this power is 1.
_NO_PENALTY = 1e-30
_BATCH_TOKENS = 8192
_LARGE_BYTES = 1 << 27
_Found = tuple[list[str], float]


class Engine(TextTranslator):
    """Raw text in, raw text out, by the engine's files in a folder."""

    batch_tokens = 1 << 17  # the engine cuts this into batches of its own, one for each worker at a time

    def __init__(self, files: Path, tokenizer: Tokenizer, *, longest: int, compute_type: str = "float32") -> None:
        super().__init__(tokenizer, longest=longest)
        workers, threads = _split_of_cores(files)
        self._engine = ctranslate2.Translator(
            str(files), device="cpu", compute_type=compute_type, inter_threads=workers, intra_threads=threads
        )
        self._names = tokenizer.pieces(range(tokenizer.size))
        self._ids = {name: number for number, name in enumerate(self._names)}
        rows = [f"<row {row}>" for row in range(tokenizer.size, tokenizer.rows)]
        self._forbidden = [[name] for name in (*self._names[:END], *rows)]

    def _write(self, sources: list[list[int]], limits: list[int], decode: DecodeSettings) -> list[list[Hypothesis]]:
        found = self._search(sources, max(limits), decode)
        # Where a search did not get to its own limit, a larger one changed nothing.
        reached = [
            index
            for index, its in enumerate(found)
            if max(len(names) for names, _ in its) >= limits[index] < max(limits)
        ]
        for limit in {limits[index] for index in reached}:
            again = [index for index in reached if limits[index] == limit]
            for index, its in zip(again, self._search([sources[i] for i in again], limit, decode), strict=True):
                found[index] = its
        return [ranked([self._read_one(*one, decode.alpha) for one in its], decode.beams) for its in found]

    def _search(self, sources: list[list[int]], limit: int, decode: DecodeSettings) -> list[list[_Found]]:
        """What the engine finds: pieces, the end mark among them if it was written, and their log-probability."""
        results = self._engine.translate_batch(
            [[self._names[number] for number in source] for source in sources],
            beam_size=decode.beams,
            num_hypotheses=decode.beams,
            length_penalty=_NO_PENALTY,
            max_decoding_length=limit,
            min_decoding_length=0,
            max_input_length=0,
            max_batch_size=_BATCH_TOKENS // decode.beams,
            batch_type="tokens",
            suppress_sequences=self._forbidden,
            return_scores=True,
            return_end_token=True,
        )
        return [list(zip(result.hypotheses, result.scores, strict=True)) for result in results]

    def _read_one(self, names: list[str], log_probability: float, alpha: float) -> Hypothesis:
        pieces = [self._ids[name] for name in names]
        score = log_probability / length_penalty(len(pieces), alpha)
        return Hypothesis(tuple(pieces[:-1] if pieces[-1:] == [END] else pieces), log_probability, score, ())


def _split_of_cores(files: Path) -> tuple[int, int]:
    """Workers, and threads of each. A small model gains nothing from several threads on one batch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return (1, cores) if (files / "model.bin").stat().st_size > _LARGE_BYTES else (cores, 1)

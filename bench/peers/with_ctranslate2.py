"""CTranslate2 called directly, float32, on the files that Regard converts for it.

Its performance guide names what to try: the split of the cores between batches and within one, large batches counted
in tokens, no scores returned. `translate_batch` sorts by length itself.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
import sentencepiece
from worker import ALPHA, EXTRA, Peer, Settings, cores, serve


class CTranslate2(Peer):
    def __init__(self, files: str) -> None:
        made = json.loads((Path(files) / "peer.json").read_text("utf-8"))
        self._files = files
        self._tokenizer = sentencepiece.SentencePieceProcessor(model_file=made["tokenizer"])
        self._split: tuple[int, int] = (0, 0)
        self.about = {
            "ctranslate2": ctranslate2.__version__,
            "sentencepiece": sentencepiece.__version__,
            "compute type": "float32",
            "length penalty": f"n^{ALPHA}",
        }

    def choices(self, beams: int) -> list[Settings]:
        batches = [*(("tokens", size) for size in (512, 1024, 2048, 4096, 8192)), ("examples", 32)]
        splits = sorted({(cores(), 1), (1, cores())}, reverse=True)
        return [
            {"inter_threads": workers, "intra_threads": threads, "batch_type": kind, "max_batch_size": size}
            for workers, threads in splits
            for kind, size in batches
        ]

    def prepare(self, settings: Settings, beams: int) -> None:
        split = (settings["inter_threads"], settings["intra_threads"])
        if split != self._split:
            self._split = split
            self._engine = ctranslate2.Translator(
                self._files, device="cpu", compute_type="float32", inter_threads=split[0], intra_threads=split[1]
            )
        self._options = {
            "beam_size": beams,
            "length_penalty": ALPHA,
            "batch_type": settings["batch_type"],
            "max_batch_size": settings["max_batch_size"],
        }

    def translate(self, lines: Sequence[str]) -> tuple[list[str], int]:
        sources = self._tokenizer.encode(list(lines), out_type=str)
        limit = max(map(len, sources)) + EXTRA
        results = self._engine.translate_batch(sources, max_decoding_length=limit, max_input_length=0, **self._options)
        pieces = [result.hypotheses[0] for result in results]
        return self._tokenizer.decode(pieces), sum(map(len, pieces))


if __name__ == "__main__":
    serve(CTranslate2)

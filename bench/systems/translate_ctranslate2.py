"""CTranslate2 called directly in float32, on files that Regard exported.

The choices are those of its performance guide: cores divided between batches or within one, large batches counted in
tokens, and no scores. `translate_batch` sorts by length itself.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
import sentencepiece
from translation_worker import LENGTH_PENALTY, MAX_LENGTH_OFFSET, Settings, System, cores, serve


class CTranslate2(System):
    def __init__(self, files: str) -> None:
        files_info = json.loads((Path(files) / "peer.json").read_text("utf-8"))
        self._files = files
        self._tokenizer = sentencepiece.SentencePieceProcessor(model_file=files_info["tokenizer"])
        self._split: tuple[int, int] = (0, 0)
        self.about = {
            "ctranslate2": ctranslate2.__version__,
            "sentencepiece": sentencepiece.__version__,
            "compute type": "float32",
            "length penalty": f"n^{LENGTH_PENALTY}",
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
            self._translator = ctranslate2.Translator(
                self._files, device="cpu", compute_type="float32", inter_threads=split[0], intra_threads=split[1]
            )
        self._options = {
            "beam_size": beams,
            "length_penalty": LENGTH_PENALTY,
            "batch_type": settings["batch_type"],
            "max_batch_size": settings["max_batch_size"],
        }

    def translate(self, lines: Sequence[str]) -> tuple[list[str], int]:
        sources = self._tokenizer.encode(list(lines), out_type=str)
        limit = max(map(len, sources)) + MAX_LENGTH_OFFSET
        results = self._translator.translate_batch(
            sources, max_decoding_length=limit, max_input_length=0, **self._options
        )
        tokens = [result.hypotheses[0] for result in results]
        return self._tokenizer.decode(tokens), sum(map(len, tokens))


if __name__ == "__main__":
    serve(CTranslate2)

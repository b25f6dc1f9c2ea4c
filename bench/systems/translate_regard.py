"""Regard as users run it: the CTranslate2 backend with a compute type, or the torch backend."""

from collections.abc import Sequence

import ctranslate2
import sentencepiece
from translation_worker import Settings, System, cores, serve

import regard
from regard.machine.malloc import limit_trimming
from regard.settings.decode import DecodeSettings


class Regard(System):
    def __init__(self, folder: str, backend: str) -> None:
        settings = {"backend": "torch"} if backend == "torch" else {"compute_type": backend}
        self._translator = regard.load(folder, **settings)
        self._decode = DecodeSettings()
        self.about = {"regard": regard.__version__, "sentencepiece": sentencepiece.__version__, "cores": cores()}
        if backend == "torch":
            import torch

            self.about |= {"torch": torch.__version__, "threads": torch.get_num_threads()}
        else:
            self.about |= {"ctranslate2": ctranslate2.__version__, "compute type": backend}

    def prepare(self, settings: Settings, beams: int) -> None:
        self._decode = DecodeSettings(beam_size=beams, scores=False)  # as `regard translate`

    def translate(self, lines: Sequence[str]) -> tuple[list[str], int]:
        translations = self._translator.translate(lines, self._decode)
        return [translation.text for translation in translations], sum(len(each.tokens) for each in translations)


if __name__ == "__main__":
    limit_trimming()
    serve(Regard)

"""Regard as its users get it: the engine's road in some compute type, or torch's."""

from collections.abc import Sequence

import ctranslate2
import sentencepiece
from worker import Peer, Settings, cores, serve

import regard
from regard.settings.decode import DecodeSettings


class Regard(Peer):
    def __init__(self, folder: str, road: str) -> None:
        self._translator = regard.load(folder, fast=None if road == "torch" else road)
        self._decode = DecodeSettings()
        self.about = {"regard": regard.__version__, "sentencepiece": sentencepiece.__version__, "cores": cores()}
        if road == "torch":
            import torch

            self.about |= {"torch": torch.__version__, "threads": torch.get_num_threads()}
        else:
            self.about |= {"ctranslate2": ctranslate2.__version__, "compute type": road}

    def prepare(self, settings: Settings, beams: int) -> None:
        self._decode = DecodeSettings(beam_size=beams, scores=False)  # as `regard translate`

    def translate(self, lines: Sequence[str]) -> tuple[list[str], int]:
        found = self._translator.translate_all(lines, self._decode)
        return [one.text for one in found], sum(len(one.tokens) for one in found)


if __name__ == "__main__":
    serve(Regard)

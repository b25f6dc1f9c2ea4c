"""The measurements of a loaded model, as work that tells how far it is; `Model` has them as methods.

On pairs that are given, or, without, on the built-in language, where also the truth is known.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.language import flips
from regard.data.texts import Preparing, Work
from regard.inside.aligning import Aligning, choose_head
from regard.inside.itplot import It
from regard.inside.laboratory import measure_it
from regard.inside.layerplot import Layers
from regard.inside.measured import Measured, measure
from regard.inside.probes import measure_layers
from regard.inside.sample import (
    SEED,
    SPLIT,
    Sample,
    check_languages,
    files_sample,
    language_sample,
    pairs_sample,
    turned_sample,
)
from regard.inside.words import visible

if TYPE_CHECKING:
    from regard.inside.model import Model

COUNT = 500  # pairs, unless it is said how many


def sample_for(
    model: "Model", count: int, *, pairs: Iterable[tuple[str, str]] | None = None, files: Sequence[Path] = ()
) -> Sample:
    """What a model is measured on."""
    if files:
        return files_sample(model.pieces, files, count, model.longest)
    if pairs is not None:
        return pairs_sample(model.pieces, pairs, count, model.longest, "pairs that were given")
    check_languages(model.languages)
    return language_sample(model.pieces, count)


def alignment_sample(
    model: "Model", count: int, *, pairs: Iterable[tuple[str, str]] | None = None, files: Sequence[Path] = ()
) -> Sample:
    """What its heads align. From French, the built-in language turned round still tells which words belong together."""
    if not files and pairs is None and model.languages == ("fr", "en"):
        return turned_sample(model.pieces, count)
    return sample_for(model, count, pairs=pairs, files=files)


def heads_measured(model: "Model", sample: Sample) -> Work[Measured]:
    """What every head does and is worth."""
    return measure(model.torch, model.pieces, sample, name=_called(model))


def layers_measured(model: "Model", sample: Sample) -> Work[Layers]:
    """What each layer knows."""
    probed = yield from measure_layers(model.torch, sample)
    return Layers(_called(model), len(sample), sample.name, probed)


def alignment_measured(model: "Model", sample: Sample) -> Work[Aligning]:
    """Which head aligns words best."""
    return choose_head(model.torch, sample)


def it_measured(model: "Model", count: int) -> Work[It]:
    """The "it" laboratory, on so many pairs of sentences."""
    check_languages(model.languages)
    pairs = []
    for pair in islice(flips(SEED, SPLIT), count):
        pairs.append(pair)
        yield Preparing("making pairs", len(pairs), count)
    found = yield from measure_it(
        model.torch, model.pieces, pairs, lambda texts: (one.text for one in model.stream(texts))
    )
    return It(_called(model), found)


def _called(model: "Model") -> str:
    """The name of its folder: whoever is shown the figures need not know where it is."""
    folder = Path(model.name)
    return visible(folder.absolute().name if folder.is_dir() else model.name)

"""What removing each attention head alone does to a given translation.

The model runs once more for each head, with the attention weights of this head at zero and the same source and target
(teacher forcing). So each number is the probability of a token after the same words, not that of a new translation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.interpret.interventions import ForcedAttention, HeadIntervention
from regard.interpret.trace import Array, Trace

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

MAX_WORK = 1e11  # the most multiplications for which a page gets the effects: some seconds on one core


@dataclass(frozen=True)
class HeadEffects:
    """The effects of removing heads, each alone. H is the number of heads, and T the number of target tokens."""

    heads: tuple[str, ...]
    probabilities_HT: Array  # of each target token
    best_HT: Array  # the id of the most probable token in the place of each target token
    best_probabilities_HT: Array


def effects_work(trace: Trace, parameters: int) -> float:
    """Return about how many multiplications it takes to measure the effects of all heads."""
    return float(len(trace.anatomy.heads)) * parameters * (len(trace.source.ids) + len(trace.written.ids))


def measure_head_effects(model: "AutoregressiveModel", trace: Trace, heads: Sequence[str] | None = None) -> HeadEffects:
    """Measure the effect of removing each head alone on the source and target of a trace of the full model.

    Without `heads`, these are all heads.
    """
    removed = tuple(trace.anatomy.heads if heads is None else heads)
    written = np.array(trace.written.ids)
    rows = [
        (probabilities_TV[np.arange(len(written)), written], probabilities_TV.argmax(axis=-1), probabilities_TV.max(-1))
        for probabilities_TV in _probabilities(model, trace, removed)
    ]
    shape = (len(rows), len(written))
    probabilities, best, highest = (np.array(list(column)).reshape(shape) for column in zip(*rows, strict=True))
    return HeadEffects(removed, probabilities, best, highest)


def row_effects(model: "AutoregressiveModel", trace: Trace, head: str, rows: Sequence[range]) -> Array:
    """Return, for each range of queries, how much a target token changes if these attend to nothing in a head.

    This is the largest change of the probability of a target token, as in `measure_head_effects`.
    """
    import torch

    from regard.models.inputs import Inputs

    lens = ForcedAttention({head: [(queries, range(0)) for queries in rows]})
    source = torch.tensor([trace.source.ids] * len(rows), device=model.device)
    read = torch.tensor([trace.read.ids] * len(rows), device=model.device)
    with torch.inference_mode():
        encoded = model.encode(Inputs(source), lens if lens.affects("source", trace.anatomy) else None)
        decoder_lens = lens if lens.affects("target", trace.anatomy) else None
        hidden_NTD, _ = model.decode(read, model.start(encoded), decoder_lens)
        hidden = torch.tensor(np.isneginf(trace["logits"]), device=model.device)
        after_NTV = model.project(hidden_NTD).masked_fill(hidden, float("-inf")).softmax(dim=-1).cpu().numpy()
    written = np.arange(len(trace.written.ids)), np.array(trace.written.ids)
    return np.asarray(np.abs(after_NTV[:, *written] - trace["probability"][written]).max(axis=1))


def _probabilities(model: "AutoregressiveModel", trace: Trace, heads: Sequence[str]) -> Iterator[Any]:
    """Yield, for each head that is removed, the probabilities of all tokens at each step."""
    import torch

    from regard.models.inputs import Inputs

    inputs = Inputs(torch.tensor([trace.source.ids], device=model.device))
    read = torch.tensor([trace.read.ids], device=model.device)
    hidden = torch.tensor(np.isneginf(trace["logits"]), device=model.device)  # tokens that are never generated
    anatomy = trace.anatomy
    with torch.inference_mode():
        encoded = model.encode(inputs)
        for head in heads:
            lens = HeadIntervention([head])
            changed = model.encode(inputs, lens) if lens.affects("source", anatomy) else encoded
            hidden_TD, _ = model.decode(read, model.start(changed), lens if lens.affects("target", anatomy) else None)
            logits_TV = model.project(hidden_TD)[0].masked_fill(hidden, float("-inf"))
            yield logits_TV.softmax(dim=-1).cpu().numpy()

"""How much memory learning takes, estimated before it starts, and the micro-batch that fits in what is free.

The weights, their gradients and Adam's two memories are counted; what a pass keeps for its way back is measured on a
few pairs, because it grows with the pieces of a micro-batch and with nothing else.
"""

import math
from collections.abc import Callable
from pathlib import Path

import psutil
import torch

from regard.data.batches import Batch
from regard.errors import RunError
from regard.model.face import SequenceModel
from regard.model.transformer import Transformer
from regard.settings import ModelSettings, TrainSettings
from regard.training.loss import CHUNK_NUMBERS, GPU_CHUNK_NUMBERS

SHARE = 0.8  # of what is free; others want some too
LEAST_TOKENS = 256  # smaller micro-batches are hardly smaller, and slow
_NUMBER = 4  # bytes
_WAY_BACK = 1.75  # what a pass keeps, and what its way back holds beside that
_LIBRARIES = 100_000_000  # what they set aside for themselves, once there is work
_SCORES = 3  # chunks of scores at once: the scores, their gradient, and one in the making


def weights_bytes(settings: ModelSettings, device: str, hands: int = 1) -> int:
    """What learning takes beside what grows with the micro-batch. Nothing is allocated to find out."""
    with torch.device("meta"):
        sizes = [parameter.numel() for parameter in Transformer(settings).parameters()]
    scores = CHUNK_NUMBERS if device == "cpu" else GPU_CHUNK_NUMBERS
    # Weight and two of Adam; for each hand a gradient, that of the largest once more, before it is added, and scores.
    return _LIBRARIES + _NUMBER * (3 * sum(sizes) + hands * (sum(sizes) + max(sizes) + _SCORES * scores))


def bytes_per_piece(model: SequenceModel, batch: Batch, settings: TrainSettings) -> float:
    """What a pass takes for each piece of a micro-batch, both sides counted as of equal length."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    device = next(model.parameters()).device
    source_BS, target_BT = (torch.from_numpy(ids).to(device) for ids in (batch.source_BS, batch.target_BT))
    mixed = torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bfloat16")
    with torch.random.fork_rng(devices=[]), mixed, torch.autograd.graph.saved_tensors_hooks(keep, lambda kept: kept):
        hidden_BTD, _ = model.decode(target_BT, model.start(model.encode(source_BS)))
    del hidden_BTD
    return _WAY_BACK * 2 * sum(kept.values()) / (source_BS.numel() + target_BT.numel())


def fit(weights: Callable[[int], int], per_piece: float, micro_tokens: int, free: int) -> tuple[int, str]:
    """The largest micro-batch, halved as often as need be, that fits; and what was found.

    `weights` gives the bytes of `weights_bytes` for a micro-batch: a smaller one has fewer hands.
    """
    tokens = micro_tokens
    while weights(tokens) + per_piece * tokens > SHARE * free and tokens > LEAST_TOKENS:
        tokens = max(LEAST_TOKENS, math.ceil(tokens / 2))
    needed = weights(tokens) + per_piece * tokens
    check(needed, free)
    found = f"about {show(needed)} of memory for a step of {tokens:,} pieces at a time"
    if tokens < micro_tokens:
        found += f" (train.micro_tokens was {micro_tokens:,}, but only {show(free)} are free)"
    return tokens, found


def check(needed: float, free: int) -> None:
    """Stop before the start if what is needed is not there."""
    if needed > SHARE * free:
        raise RunError(
            f"learning would take about {show(needed)} of memory, and {show(free)} are free, of which a run takes at "
            f"most {SHARE:.0%}; end other programs, or choose a smaller --size"
        )


def show(count: float) -> str:
    """`3.4 GB`, `120 MB`."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{math.ceil(count / 1e6)} MB"


def free_memory(device: str) -> int:
    """How many bytes a run may hope for."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    return min(psutil.virtual_memory().available, container_room())


def container_room(process: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """What the limits that Linux sets to a container leave; more than there is, where there are none."""
    room = 1 << 62
    try:
        lines = process.read_text("utf-8").splitlines()
    except OSError:
        return room  # not Linux
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds == "":
            names, start = ("memory.max", "memory.current", "inactive_file"), root
        elif "memory" in kinds.split(","):
            names, start = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"), root / "memory"
        else:
            continue
        own = start / path.strip("/")
        # A limit of any group above holds too. Inside a container the path may be one that only its host sees.
        for group in (own, *own.parents):
            if group.is_relative_to(start):
                room = min(room, _room(group, *names))
    return room


def _room(group: Path, limit: str, used: str, inactive: str) -> int:
    try:
        most = int((group / limit).read_text("utf-8"))
        now = int((group / used).read_text("utf-8"))
        facts = dict(line.split() for line in (group / "memory.stat").read_text("utf-8").splitlines())
    except (OSError, ValueError):
        return 1 << 62  # no limit, which is written "max", or no such group
    # Pages of files that nobody uses are given back when they are wanted.
    return most - now + int(facts.get(inactive, 0))

"""A plain training loop for any model: batches of similar length, label smoothing, Adam and gradient clipping."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from training_gate import Gate

PAD, BOS, EOS = 0, 2, 3


def train(model: nn.Module, compute_logits: Callable[[Tensor, Tensor], Tensor], gate: Gate, **about: Any) -> None:
    """Train a model. `compute_logits` maps padded source and target ids to the logits of each next token."""
    gate.about = {"torch": torch.__version__, "threads": torch.get_num_threads(), "adam": "fused", **about}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    model.train()
    for source, target in _batches(gate.job):
        logits = compute_logits(source, target[:, :-1])
        labels = target[:, 1:].reshape(-1)
        loss = F.cross_entropy(logits.flatten(0, 1), labels, ignore_index=PAD, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        gate.step_done(int((labels != PAD).sum()))


def _batches(job: dict[str, Any]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of similar length in random order, endlessly, with a limit of target tokens including padding."""
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=f"{job['data']}/tokenizer.model")
    lines = [Path(f"{job['data']}/train.{side}").read_text("utf-8").split("\n")[:-1] for side in ("en", "de")]
    sources, targets = (tokenizer.encode(side) for side in lines)
    pairs = [([*s, EOS], [BOS, *t, EOS]) for s, t in zip(sources, targets, strict=True)]
    pairs.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
    batches: list[list[tuple[list[int], list[int]]]] = [[]]
    for pair in pairs:
        if (len(batches[-1]) + 1) * (len(pair[1]) - 1) > job["tokens"]:
            batches.append([])
        batches[-1].append(pair)
    order = random.Random(1)
    while True:
        order.shuffle(batches)
        for batch in batches:
            yield _padded([source for source, _ in batch]), _padded([target for _, target in batch])


def _padded(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])

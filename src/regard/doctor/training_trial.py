"""Ten steps of training on the built-in language, then the same texts translated by the engine and by torch.

What takes part in that is imported by the process in which it runs, and by no other.
"""

import math
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.synthetic.generator import pairs
from regard.doctor.check_result import CheckResult
from regard.doctor.child_process import ChildError, run_child
from regard.settings.decode import DecodeSettings

STEPS = 10

PAIRS = 300

TEXTS = 20

APART = 1e-3  # how far the scores of two roads may be; rounding makes about a hundredth of that

SETTINGS = (
    "model.width=32", "model.heads=2", "model.feedforward=64", "model.encoder_layers=1", "model.decoder_layers=1",
    "tokenizer.vocab_size=500", "train.batch_tokens=256", "train.micro_batch_tokens=256", "train.learning_rate=0.01",
    "train.warmup_steps=1", "train.dropout=0", f"train.validate_every={STEPS}", "decode.beam_size=2",
    "decode.max_length_offset=5",
)  # fmt: skip

_CODE = """
import sys
from regard.doctor.training_trial import attempt
for event in attempt(sys.argv[1]):
    tell(event)
"""


def trial() -> Iterator[str | CheckResult]:
    """Say what is being tried, then what came of it."""
    began = time.monotonic()
    result: dict[str, Any] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="regard-doctor-", ignore_cleanup_errors=True) as folder:
            for event in run_child(_CODE, folder):
                if isinstance(event, str):
                    yield f"self-test, {event}"
                else:
                    result = event
    except (ChildError, OSError) as error:
        yield CheckResult("Self-test", "self-test", "failed", f"it should train and translate, but: {error}")
        return
    yield from _judge(**result, seconds=time.monotonic() - began)


def _judge(losses: list[float], same: int, apart: float, seconds: float) -> Iterator[CheckResult]:
    fell = all(map(math.isfinite, losses)) and losses[-1] < losses[0]
    yield CheckResult(
        "Self-test",
        "training",
        f"{len(losses)} steps, loss {losses[0]:.2f} to {losses[-1]:.2f}",
        None if fell else "the loss did not fall: this machine, or torch on it, does not compute as it should",
    )
    alike = same == TEXTS and apart < APART
    yield CheckResult(
        "Self-test",
        "translating",
        f"{same} of {TEXTS} texts are the same from the engine and from torch, their scores within {apart:.1g}; "
        f"{seconds:.0f} s",
        None if alike else "the engine and torch do not agree: one of them does not compute as it should",
    )


def attempt(folder: str) -> Iterator[str | dict[str, Any]]:
    """Train and translate in a folder, in this process."""
    from regard.inference.translator_loader import load_translator
    from regard.training.run import train
    from regard.training.step import Step

    yield "training ten steps"
    file, model = Path(folder) / "train.tsv", Path(folder) / "model"
    found = list(islice(pairs(seed=1), PAIRS))
    file.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in found), "utf-8")
    events = list(train([file], out=model, size="tiny", steps=STEPS, overrides=SETTINGS))
    yield "translating"
    texts, decode = [pair.source for pair in found[:TEXTS]], DecodeSettings(beam_size=2, max_length_offset=5)
    roads = [load_translator(model, fast=fast).translate_all(texts, decode) for fast in ("float32", None)]
    both = list(zip(*roads, strict=True))
    yield {
        "losses": [event.loss for event in events if isinstance(event, Step)],
        "same": sum(one.text == other.text for one, other in both),
        "apart": max(abs(one.score - other.score) for one, other in both),
    }

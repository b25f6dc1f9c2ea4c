"""A self-test: train for ten steps on synthetic data, then translate the same texts with CTranslate2 and with torch.

The self-test runs in a child process, and only that process imports the libraries that are needed.
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

# The maximum difference between the scores of the two backends. Rounding alone causes about 1e-5.
MAX_SCORE_DIFFERENCE = 1e-3

SETTINGS = (
    "model.width=32", "model.heads=2", "model.feedforward=64", "model.encoder_layers=1", "model.decoder_layers=1",
    "tokenizer.vocab_size=500", "train.batch_tokens=256", "train.micro_batch_tokens=256", "train.learning_rate=0.01",
    "train.warmup_steps=1", "train.dropout=0", f"train.validate_every={STEPS}", "decode.beam_size=2",
    "decode.max_length_offset=5",
)  # fmt: skip

_CODE = """
import sys
from regard.doctor.training_trial import run_trial
for event in run_trial(sys.argv[1]):
    report(event)
"""


def check_training() -> Iterator[str | CheckResult]:
    """Yield the name of each stage as it starts, then the results."""
    start = time.monotonic()
    result: dict[str, Any] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="regard-doctor-", ignore_cleanup_errors=True) as folder:
            for event in run_child(_CODE, folder):
                if isinstance(event, str):
                    yield f"self-test, {event}"
                else:
                    result = event
    except (ChildError, OSError) as error:
        yield CheckResult("Self-test", "self-test", "failed", f"Regard cannot train and translate: {error}")
        return
    yield from _results(**result, seconds=time.monotonic() - start)


def _results(losses: list[float], same: int, difference: float, seconds: float) -> Iterator[CheckResult]:
    has_fallen = all(map(math.isfinite, losses)) and losses[-1] < losses[0]
    yield CheckResult(
        "Self-test",
        "training",
        f"{len(losses)} steps, loss {losses[0]:.2f} to {losses[-1]:.2f}",
        None if has_fallen else "the loss did not fall: torch does not compute correctly on this machine",
    )
    agree = same == TEXTS and difference < MAX_SCORE_DIFFERENCE
    yield CheckResult(
        "Self-test",
        "translating",
        f"CTranslate2 and torch agree on {same} of {TEXTS} texts, with scores within {difference:.1g}; {seconds:.0f} s",
        None if agree else "CTranslate2 and torch disagree: one of them does not compute correctly on this machine",
    )


def run_trial(folder: str) -> Iterator[str | dict[str, Any]]:
    """Run the self-test in this process: yield the name of each stage as it starts, then the values to check."""
    from regard.inference.translator_loader import load_translator
    from regard.training.run import iter_train
    from regard.training.step import Step

    yield "training ten steps"
    file, model = Path(folder) / "train.tsv", Path(folder) / "model"
    examples = list(islice(pairs(seed=1), PAIRS))
    file.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in examples), "utf-8")
    events = list(iter_train([file], out=model, size="tiny", steps=STEPS, overrides=SETTINGS))
    yield "translating"
    texts, decode = [pair.source for pair in examples[:TEXTS]], DecodeSettings(beam_size=2, max_length_offset=5)
    translations = [load_translator(model, backend=backend).translate(texts, decode) for backend in ("auto", "torch")]
    compared = list(zip(*translations, strict=True))
    yield {
        "losses": [event.loss for event in events if isinstance(event, Step)],
        "same": sum(one.text == other.text for one, other in compared),
        "difference": max(abs(one.score - other.score) for one, other in compared),
    }

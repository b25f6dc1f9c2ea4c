"""A generated corpus and a run that takes about a second: 50 steps of two micro-batches over a few epochs."""

import json
import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from regard.storage.manifest import sha256
from regard.training.planning.step_time import StepTime
from regard.training.run import iter_train
from regard.training.step import Step
from regard.training.tracking.events import Event, Planned

WORDS = ["a", "bo", "cat", "dog", "elf", "fig", "gnu", "hat", "ink", "jam"]
OVERRIDES = (
    "model.width=16",
    "model.heads=2",
    "model.feedforward=24",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "tokenizer.vocab_size=300",
    "train.micro_batch_tokens=48",
    "train.batch_tokens=96",
    "train.dropout=0.1",
    "train.validate_every=10",
    "decode.beam_size=2",
    "decode.max_length_offset=2",
)


@dataclass(frozen=True)
class TinyRuns:
    """Starts runs that differ only in the given changes."""

    files: Sequence[Path]
    prepared: Path
    steps: int = 50
    overrides: tuple[str, ...] = OVERRIDES

    def events(self, out: Path, files: Sequence[Path] | None = None, **changes: Any) -> Iterator[Event]:
        """Start or resume a run; return its events."""
        arguments: dict[str, Any] = {"size": "tiny", "steps": self.steps, "overrides": self.overrides, **changes}
        return iter_train(files or self.files, out=out, **arguments)

    def __call__(self, out: Path, files: Sequence[Path] | None = None, **changes: Any) -> list[Event]:
        """Complete a run; return its events."""
        return list(self.events(out, files, **changes))

    def stopped(self, out: Path, step: int, **changes: Any) -> list[Event]:
        """Start or resume a run that is asked to stop after this step; return its events."""
        events: list[Event] = []
        for event in self.events(out, **changes, stop=lambda: bool(events) and _is_step(events[-1], step)):
            events.append(event)  # noqa: PERF402 (`stop` reads the list)
        return events

    def fresh(self, out: Path) -> Path:
        """Copy a run whose data and plan are ready, but which has taken no step."""
        shutil.copytree(self.prepared, out)
        return out

    def fresh_for(self, out: Path, steps: int) -> Path:
        """Copy a run with another number of steps: its data is ready, but its plan is not."""
        if steps != self.steps:
            shutil.copytree(self.prepared, out, ignore=shutil.ignore_patterns("plan.json"))
            return out
        return self.fresh(out)

    @staticmethod
    def sentences(count: int, seed: int) -> list[tuple[str, str]]:
        """Return different sentences, each paired with itself in reverse word order."""
        generator = random.Random(seed)
        pairs: dict[str, str] = {}
        while len(pairs) < count:
            words = [WORDS[int(generator.random() * len(WORDS))] for _ in range(2 + int(generator.random() * 4))]
            pairs[" ".join(words)] = " ".join(reversed(words))
        return list(pairs.items())

    @staticmethod
    def write(folder: Path, name: str, pairs: Iterable[tuple[str, str]]) -> list[Path]:
        """Write pairs as two aligned files; return their paths."""
        paths = [folder / f"{name}.en", folder / f"{name}.fr"]
        pairs = list(pairs)
        for side, path in enumerate(paths):
            path.write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
        return paths


@dataclass(frozen=True)
class Result:
    """The files and the log of a finished run, without the time of each step."""

    weights: str
    files: dict[str, bytes]
    log: list[dict]

    @classmethod
    def of(cls, out: Path) -> "Result":
        names = ["settings.json", "tokenizer.model", "manifest.json", "card.md"]
        lines = (out / "run" / "log.jsonl").read_text("utf-8").splitlines()
        log = [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in lines]
        return cls(sha256(out / "weights.safetensors"), {name: (out / name).read_bytes() for name in names}, log)


def _is_step(event: Event, step: int) -> bool:
    return isinstance(event, Step) and event.step == step


@pytest.fixture(scope="module", autouse=True)
def _skip_speed_measurement() -> Iterator[None]:
    """Skip the measurement of the speed of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.training.planning.step_time.measure_step_time", lambda *_: StepTime(0.01, 50.0))
        yield


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, _skip_speed_measurement: None) -> TinyRuns:
    folder = tmp_path_factory.mktemp("tiny")
    runs = TinyRuns(TinyRuns.write(folder, "train", TinyRuns.sentences(60, seed=1)), folder / "prepared")
    events = runs.events(runs.prepared)
    assert any(isinstance(event, Planned) for event in events)
    events.close()  # type: ignore[attr-defined]
    return runs

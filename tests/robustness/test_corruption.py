"""Full disks, changed bytes and truncated files are detected before use, and reported with the file's name."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from tests.robustness.conftest import Report
from tests.robustness.counts import campaign
from tests.training.conftest import TinyRuns

from regard.errors import DiskError, FolderError, UserError
from regard.interchange.ctranslate2.cache import export_key, is_intact_export
from regard.model_folder.loader import open_folder
from regard.storage.manifest import find_damage, sha256
from regard.training.step import Step
from regard.training.tracking.events import Event, Note, Planned

torch.set_num_threads(1)


# Full disks


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of eight megabytes, which is more than a run of the tiny model needs."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here: " + mounted.stderr.decode().strip())
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill_disk(disk: Path, free: int) -> None:
    """Fill the disk until only this many bytes are free."""
    with (disk / "ballast").open("wb") as file:
        usage = shutil.disk_usage(disk)
        if usage.free > free:
            os.posix_fallocate(file.fileno(), 0, usage.free - free)


def check_disk_error(error: DiskError, out: Path) -> None:
    known, unknown = r"[\d,]+ bytes are needed and [\d,]+ are free", r"more than the [\d,]+ free bytes are needed"
    end = "free some space, then run the same command again; earlier files are unchanged"
    match = re.fullmatch(rf"(\S+): the disk is full: (?:{known}|{unknown}); {end}", str(error))
    assert match is not None, error
    assert Path(match[1]).is_relative_to(out)


@campaign("full disks")
def test_runs_resume_after_the_disk_was_full(
    tiny: TinyRuns, disk: Path, tmp_path: Path, report: Report, count: int
) -> None:
    """The disk fills up at evenly spaced sizes of a checkpoint, and of a complete run."""
    tiny(tiny.fresh(tmp_path / "complete"))
    expected = sha256(tmp_path / "complete" / "weights.safetensors")
    checkpoint_size = folder_size(tmp_path / "complete" / "run" / "checkpoints" / "step-00000050")
    for number in range(count):
        out = tiny.fresh(disk / f"saving-{number}")
        events = tiny.events(out)
        assert any(isinstance(event, Step) and event.step == 20 for event in events)
        fill_disk(disk, number * checkpoint_size // count)
        with pytest.raises(DiskError) as caught:
            list(events)
        check_disk_error(caught.value, out)
        assert find_damage(out / "run" / "checkpoints" / "step-00000010") is None
        finish(tiny, out, disk, expected)
    full = sum(run_on_almost_full_disk(tiny, disk, number, count, expected) for number in range(count))
    report(
        f"disk full during {count} checkpoints and {count} complete runs (on a real file system of 8 MB, which filled "
        f"up in {full} of the complete runs): every error gave the path and the number of bytes, no older checkpoint "
        f"was damaged, and {2 * count} of {2 * count} runs resumed to the same SHA-256 once there was free space"
    )


def run_on_almost_full_disk(tiny: TinyRuns, disk: Path, number: int, count: int, expected: str) -> bool:
    """Start a run without enough disk space, and finish it with enough; return whether the disk filled up."""
    out = disk / f"complete-{number}"
    out.mkdir()
    fill_disk(disk, (number + 1) * 700_000 // count)
    is_full = False
    try:
        tiny(out)
    except DiskError as error:
        is_full = True
        check_disk_error(error, out)
    finish(tiny, out, disk, expected)
    return is_full


def finish(tiny: TinyRuns, out: Path, disk: Path, expected: str) -> None:
    (disk / "ballast").unlink()
    tiny(out)
    assert sha256(out / "weights.safetensors") == expected
    shutil.rmtree(out)


def folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*"))


# Changed bytes and truncated files


@pytest.fixture(scope="module")
def stopped(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with three checkpoints, at steps 10, 20 and 25."""
    out = tiny.fresh(tmp_path_factory.mktemp("stopped") / "model")
    tiny.stopped(out, 25)
    return out


@pytest.fixture(scope="module")
def finished(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder without its run."""
    out = tiny.fresh(tmp_path_factory.mktemp("finished") / "model")
    tiny(out)
    shutil.rmtree(out / "run")
    return out


def files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


@campaign("byte changes")
def test_changed_bytes_are_detected_or_harmless(
    tiny: TinyRuns, stopped: Path, finished: Path, tmp_path: Path, report: Report, count: int
) -> None:
    def change_byte(path: Path, generator: random.Random) -> None:
        data = bytearray(path.read_bytes())
        data[generator.randrange(len(data))] ^= generator.randrange(1, 256)
        path.write_bytes(data)

    outcomes = damage_files(tiny, stopped, finished, tmp_path, count, change_byte)
    report(f"{count:,} changed bytes: {summary(outcomes)}")


@campaign("truncations")
def test_truncated_files_are_detected_or_harmless(
    tiny: TinyRuns, stopped: Path, finished: Path, tmp_path: Path, report: Report, count: int
) -> None:
    def truncate(path: Path, generator: random.Random) -> None:
        os.truncate(path, generator.randrange(path.stat().st_size))

    outcomes = damage_files(tiny, stopped, finished, tmp_path, count, truncate)
    report(f"{count:,} truncated files: {summary(outcomes)}")


def summary(outcomes: Counter[str]) -> str:
    return "; ".join(f"{number:,} {outcome}" for outcome, number in outcomes.most_common())


def damage_files(
    tiny: TinyRuns,
    stopped: Path,
    finished: Path,
    tmp_path: Path,
    count: int,
    change: Callable[[Path, random.Random], None],
) -> Counter[str]:
    """Change a random file of a run or a model, `count` times, and count the outcomes; no change goes unnoticed."""
    generator, outcomes = random.Random(count), Counter[str]()
    for number in range(count):
        original = generator.choice([stopped, finished])
        name = generator.choice(files(original))
        out = tmp_path / f"damaged-{number}"
        shutil.copytree(original, out)
        change(out / name, generator)
        if original == finished:
            outcomes[check_model(finished, out, name)] += 1
        else:
            outcomes[check_run(tiny, stopped, out, name)] += 1
        shutil.rmtree(out)
    assert outcomes.total() == count
    return outcomes


def check_model(original: Path, out: Path, name: Path) -> str:
    try:
        open_folder(out).build()
    except FolderError as error:
        assert str(out) in str(error)  # noqa: PT017 (harmless changes raise nothing)
        return "refused with the name of the file"
    if name.parts[0] == "ctranslate2":
        if not is_intact_export(out / "ctranslate2", export_key(out, "float32", None)):
            return "detected in the CTranslate2 export, which is then made again"
        assert same_json(original / name, out / name)
        return "harmless (whitespace in a JSON file)"
    if name == Path("card.md"):
        return "harmless (in the model card, which users may edit)"
    assert same_json(original / name, out / name), name
    return "harmless (whitespace in a JSON file)"


def same_json(first: Path, second: Path) -> bool:
    return first.suffix == ".json" and json.loads(first.read_text("utf-8")) == json.loads(second.read_text("utf-8"))


def check_run(tiny: TinyRuns, original: Path, out: Path, name: Path) -> str:
    """Resume the run up to the point where training continues."""
    try:
        events = start(tiny, out)
    except UserError as error:
        assert str(out / name) in str(error)  # noqa: PT017
        return "refused with the name of the file"
    (planned,) = [event for event in events if isinstance(event, Planned)]
    notes = [event.text for event in events if isinstance(event, Note)]
    if name.parts[1] == "checkpoints":
        return check_checkpoint(original, out, name, planned.resumed, notes)
    assert planned.resumed == 25
    assert not notes
    if name.name == "log.jsonl":
        return "harmless (in the log, which does not affect the run)"
    # The prepared data is as before: either not affected by the change, or prepared again.
    for path in files(original):
        if path.parts[1] in ("texts", "tokenizer", "word_counts", "tokens", "plan.json"):
            assert (original / path).read_bytes() == (out / path).read_bytes() or same_json(original / path, out / path)
    if (original / name).read_bytes() == (out / name).read_bytes():
        return "detected in the prepared data, which is then prepared again"
    return "harmless (whitespace in a JSON file)"


def start(tiny: TinyRuns, out: Path) -> list[Event]:
    events = tiny.events(out)
    seen: list[Event] = []
    for event in events:
        seen.append(event)
        if isinstance(event, Planned):
            break
    events.close()  # type: ignore[attr-defined]
    return seen


def check_checkpoint(original: Path, out: Path, name: Path, resumed: int, notes: list[str]) -> str:
    is_newest = name.parts[2] == "step-00000025"
    if find_damage(out / Path(*name.parts[:3])) is None:
        assert same_json(original / name, out / name)
        assert (resumed, notes) == (25, [])
        return "harmless (whitespace in a JSON file)"
    # An older checkpoint is read only when it is needed, and the damage is detected then.
    assert resumed == (20 if is_newest else 25)
    assert len(notes) == is_newest
    if is_newest:
        return "detected in the newest checkpoint, after which the run resumes from the previous one"
    return "detected in an older checkpoint"


# The order of disk operations


SAVING_SCRIPT = """
import sys
from pathlib import Path
import torch
from regard.settings.train import TrainSettings
from regard.training.checkpoints import Checkpoints, RunState
from regard.training.optimizers.adam import make_optimizer

model = torch.nn.Linear(3, 3)
optimizer = make_optimizer(model, TrainSettings())
model(torch.ones(1, 3)).sum().backward()
optimizer.step()
checkpoints = Checkpoints(Path(sys.argv[1]))
for step in range(1, int(sys.argv[2]) + 1):
    checkpoints.save(model, optimizer, RunState(step=step))
"""


@campaign("traced saves")
def test_files_are_synced_before_and_their_folder_after_a_rename(tmp_path: Path, report: Report, count: int) -> None:
    """`strace` records the system calls of saving checkpoints."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    folder, trace = (tmp_path / "checkpoints").resolve(), tmp_path / "trace"
    calls = "trace=fsync,fdatasync,rename,renameat,renameat2"
    done = subprocess.run(
        ["strace", "-f", "-y", "-e", calls, "-o", trace, sys.executable, "-c", SAVING_SCRIPT, folder, str(count)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("this system does not allow tracing")
    assert done.returncode == 0, done.stderr
    operations = read_trace(trace)
    for step in range(1, count + 1):
        name = folder / f"step-{step:08d}"
        new = Path(f"{name}.tmp")
        renamed = operations.index(f"rename {new} {name}")
        for file in ("weights.safetensors", "optimizer.safetensors", "progress.json", "manifest.json"):
            assert f"sync {new / file}" in operations[:renamed], file
        assert f"sync {new}" in operations[:renamed]
        assert f"sync {folder}" in operations[renamed:]
    # The same holds for every other rename, except those of safetensors inside a temporary folder.
    for number, operation in enumerate(operations):
        if operation.startswith("rename ") and "/.tmp" not in operation:
            _, before, after = operation.split()
            assert f"sync {before}" in operations[:number], operation
            assert f"sync {Path(after).parent}" in operations[number:], operation
    report(
        f"system calls of {count} saves: fsync of each file, rename, fsync of the folder, in this order, in {count} of "
        f"{count}"
    )


def read_trace(trace: Path) -> list[str]:
    operations = []
    for line in trace.read_text("utf-8").splitlines():
        if match := re.search(r"f(?:data)?sync\(\d+<(.*)>\)\s+= 0$", line):
            operations.append(f"sync {match[1]}")
        elif match := re.search(r'rename\w*\((?:[^"]*)"(.*?)",(?:[^"]*)"(.*?)".*= 0$', line):
            operations.append(f"rename {match[1]} {match[2]}")
    return operations

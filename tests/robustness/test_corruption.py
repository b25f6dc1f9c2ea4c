"""Full disks, flipped bytes, files cut off: found before use, said by name, and never worse than the loss of a step."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.robustness.conftest import Report
from tests.robustness.counts import campaign
from tests.training.conftest import TinyRuns

from regard.errors import DiskError, FolderError, UserError
from regard.interchange.ctranslate2.cache import export_key, usable
from regard.model_folder.loader import open_folder
from regard.storage.manifest import find_damage, sha256
from regard.training.step import Step
from regard.training.tracking.events import Event, Note, Planned

torch.set_num_threads(1)


# Full disks


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of eight megabytes, which a run of the tiny model needs a part of."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here: " + mounted.stderr.decode().strip())
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def leave(disk: Path, free: int) -> None:
    """Fill the disk but for so many bytes."""
    with (disk / "ballast").open("wb") as file:
        usage = shutil.disk_usage(disk)
        if usage.free > free:
            os.posix_fallocate(file.fileno(), 0, usage.free - free)


def check_full(error: DiskError, out: Path) -> None:
    known, unknown = r"[\d,]+ bytes are needed here and [\d,]+", r"more bytes are needed here than the [\d,]+ that"
    end = "make room, then give the same command again; what was there before is whole"
    found = re.fullmatch(rf"(\S+): the disk is full: (?:{known}|{unknown}) are free; {end}", str(error))
    assert found is not None, error
    assert Path(found[1]).is_relative_to(out)


@campaign("full disks")
def test_disks_that_fill_up(tiny: TinyRuns, disk: Path, tmp_path: Path, report: Report, count: int) -> None:
    """At so many byte offsets of a checkpoint, and of a whole run from its first file to its last."""
    tiny(tiny.fresh(tmp_path / "whole"))
    wanted = sha256(tmp_path / "whole" / "weights.safetensors")
    checkpoint = size(tmp_path / "whole" / "run" / "checkpoints" / "step-00000050")
    for number in range(count):
        out = tiny.fresh(disk / f"saving-{number}")
        events = tiny.events(out)
        assert any(isinstance(event, Step) and event.step == 20 for event in events)
        leave(disk, number * checkpoint // count)
        with pytest.raises(DiskError) as caught:
            list(events)
        check_full(caught.value, out)
        assert find_damage(out / "run" / "checkpoints" / "step-00000010") is None
        finish(tiny, out, disk, wanted)
    stopped = Counter(fill_from_the_start(tiny, disk, number, count, wanted) for number in range(count))
    report(
        f"disk full at {count} byte offsets of a checkpoint and {count} of a whole run (a real file system of 8 MB): "
        f"every error named the path and the bytes, 0 older checkpoints damaged, {2 * count} of {2 * count} resumed to "
        f"the same SHA-256 once there was room (in the whole runs the disk filled up {stopped[True]} times)"
    )


def fill_from_the_start(tiny: TinyRuns, disk: Path, number: int, count: int, wanted: str) -> bool:
    """A run from its files, on a disk that has a part of what it needs. Whether it filled up."""
    out = disk / f"whole-{number}"
    out.mkdir()
    leave(disk, (number + 1) * 700_000 // count)
    full = False
    try:
        tiny(out)
    except DiskError as error:
        full = True
        check_full(error, out)
    finish(tiny, out, disk, wanted)
    return full


def finish(tiny: TinyRuns, out: Path, disk: Path, wanted: str) -> None:
    (disk / "ballast").unlink()
    tiny(out)
    assert sha256(out / "weights.safetensors") == wanted
    shutil.rmtree(out)


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*"))


# Flipped bytes and files cut off


@pytest.fixture(scope="module")
def stopped(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with three checkpoints, at steps 10, 20 and 25."""
    out = tiny.fresh(tmp_path_factory.mktemp("stopped") / "model")
    tiny.stopped(out, 25)
    return out


@pytest.fixture(scope="module")
def finished(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder, without its run."""
    out = tiny.fresh(tmp_path_factory.mktemp("finished") / "model")
    tiny(out)
    shutil.rmtree(out / "run")
    return out


def files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


@campaign("flips")
def test_flipped_bytes(
    tiny: TinyRuns, stopped: Path, finished: Path, tmp_path: Path, report: Report, count: int
) -> None:
    def flip(path: Path, numbers: random.Random) -> None:
        data = bytearray(path.read_bytes())
        data[numbers.randrange(len(data))] ^= numbers.randrange(1, 256)
        path.write_bytes(data)

    found = harm(tiny, stopped, finished, tmp_path, count, flip)
    report(f"{count:,} flipped bytes: {told(found)}")


@campaign("truncations")
def test_files_cut_off(
    tiny: TinyRuns, stopped: Path, finished: Path, tmp_path: Path, report: Report, count: int
) -> None:
    def cut(path: Path, numbers: random.Random) -> None:
        os.truncate(path, numbers.randrange(path.stat().st_size))

    found = harm(tiny, stopped, finished, tmp_path, count, cut)
    report(f"{count:,} truncations: {told(found)}")


def told(found: Counter[str]) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in found.most_common())


def harm(tiny, stopped, finished, tmp_path, count, change) -> Counter[str]:
    """Harm a random file of a run or of a model, and see what becomes of it; never a silent difference."""
    numbers, found = random.Random(count), Counter[str]()
    for number in range(count):
        whole = numbers.choice([stopped, finished])
        name = numbers.choice(files(whole))
        out = tmp_path / f"harmed-{number}"
        shutil.copytree(whole, out)
        change(out / name, numbers)
        if whole == finished:
            found[look_at_model(finished, out, name)] += 1
        else:
            found[look_at_run(tiny, stopped, out, name)] += 1
        shutil.rmtree(out)
    assert found.total() == count
    return found


def look_at_model(whole: Path, out: Path, name: Path) -> str:
    try:
        open_folder(out).build()
    except FolderError as error:
        assert str(out) in str(error)  # noqa: PT017 (harmless changes raise nothing)
        return "refused, with the file's name"
    if name.parts[0] == "fast":
        if not usable(out / "fast", export_key(out, "float32")):
            return "found in the engine's files, which are then made again"
        assert same_json(whole / name, out / name)
        return "harmless (white space of a JSON file)"
    if name == Path("card.md"):
        return "harmless (the card, which people may edit)"
    assert same_json(whole / name, out / name), name
    return "harmless (white space of a JSON file)"


def same_json(one: Path, other: Path) -> bool:
    return one.suffix == ".json" and json.loads(one.read_text("utf-8")) == json.loads(other.read_text("utf-8"))


def look_at_run(tiny: TinyRuns, whole: Path, out: Path, name: Path) -> str:
    """Start the run as the same command would, up to where it goes on learning."""
    try:
        events = start(tiny, out)
    except UserError as error:
        assert str(out / name) in str(error)  # noqa: PT017
        return "refused, with the file's name"
    (planned,) = [event for event in events if isinstance(event, Planned)]
    notes = [event.text for event in events if isinstance(event, Note)]
    if name.parts[1] == "checkpoints":
        return look_at_checkpoint(whole, out, name, planned.resumed, notes)
    assert planned.resumed == 25
    assert not notes
    if name.name == "log.jsonl":
        return "harmless (the log, which nothing is computed from)"
    # Whatever was prepared is as it was: not touched by the change, or made again.
    for path in files(whole):
        if path.parts[1] in ("texts", "tokenizer", "shards", "plan.json"):
            assert (whole / path).read_bytes() == (out / path).read_bytes() or same_json(whole / path, out / path)
    if (whole / name).read_bytes() == (out / name).read_bytes():
        return "found, and the prepared data made again"
    return "harmless (white space of a JSON file)"


def start(tiny: TinyRuns, out: Path) -> list[Event]:
    events = tiny.events(out)
    found: list[Event] = []
    for event in events:
        found.append(event)
        if isinstance(event, Planned):
            break
    events.close()  # type: ignore[attr-defined]
    return found


def look_at_checkpoint(whole: Path, out: Path, name: Path, resumed: int, notes: list[str]) -> str:
    newest = name.parts[2] == "step-00000025"
    if find_damage(out / Path(*name.parts[:3])) is None:
        assert same_json(whole / name, out / name)
        assert (resumed, notes) == (25, [])
        return "harmless (white space of a JSON file)"
    # An older checkpoint is looked at when it is needed, and then seen to be damaged.
    assert resumed == (20 if newest else 25)
    assert len(notes) == newest
    return "found in a checkpoint, and the one before it taken" if newest else "found in an older checkpoint"


# The order of what is asked of the disk


SAVES = """
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
def test_the_order_seen_by_the_system(tmp_path: Path, report: Report, count: int) -> None:
    """Every file is synced before its checkpoint gets its name, and the folder of that name after."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    folder, trace = (tmp_path / "checkpoints").resolve(), tmp_path / "trace"
    calls = "trace=fsync,fdatasync,rename,renameat,renameat2"
    done = subprocess.run(
        ["strace", "-f", "-y", "-e", calls, "-o", trace, sys.executable, "-c", SAVES, folder, str(count)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("this system does not let itself be traced")
    assert done.returncode == 0, done.stderr
    acts = read_trace(trace)
    for step in range(1, count + 1):
        name = folder / f"step-{step:08d}"
        new = Path(f"{name}.tmp")
        renamed = acts.index(f"rename {new} {name}")
        for file in ("weights.safetensors", "optimizer.safetensors", "progress.json", "manifest.json"):
            assert f"sync {new / file}" in acts[:renamed], file
        assert f"sync {new}" in acts[:renamed]
        assert f"sync {folder}" in acts[renamed:]
    # And so it is with each rename of ours; safetensors also renames, inside a folder that has no name yet.
    for number, act in enumerate(acts):
        if act.startswith("rename ") and "/.tmp" not in act:
            _, before, after = act.split()
            assert f"sync {before}" in acts[:number], act
            assert f"sync {Path(after).parent}" in acts[number:], act
    report(f"system calls of {count} saves: fsync of each file, rename, fsync of the folder, in {count} of {count}")


def read_trace(trace: Path) -> list[str]:
    acts = []
    for line in trace.read_text("utf-8").splitlines():
        if found := re.search(r"f(?:data)?sync\(\d+<(.*)>\)\s+= 0$", line):
            acts.append(f"sync {found[1]}")
        elif found := re.search(r'rename\w*\((?:[^"]*)"(.*?)",(?:[^"]*)"(.*?)".*= 0$', line):
            acts.append(f"rename {found[1]} {found[2]}")
    return acts

"""The doctor finds a machine well when it is, and when it is not, says what is wrong and all the rest too."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from regard.doctor import system, training_trial
from regard.doctor.check_result import CheckResult, Diagnosis
from regard.doctor.child_process import ChildError, run_child
from regard.doctor.libraries import LIBRARIES, library
from regard.doctor.system import computer, paths
from regard.model_folder.bundled import available
from regard.render.units import format_size


@dataclass(frozen=True)
class Visit:
    """What `regard doctor --json` said, by name."""

    code: int
    well: bool
    found: dict[str, dict[str, Any]]
    said: list[str]


def visit(**environment: str) -> Visit:
    done = subprocess.run(
        [sys.executable, "-m", "regard", "doctor", "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    report = json.loads(done.stdout)
    return Visit(
        done.returncode, report["well"], {one["name"]: one for one in report["findings"]}, done.stderr.splitlines()
    )


# A machine as it is


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    return visit(XDG_CACHE_HOME=str(tmp_path_factory.mktemp("cache")))


def test_all_is_well(well: Visit) -> None:
    assert [one for one in well.found.values() if one["wrong"]] == []
    assert (well.code, well.well) == (0, True)


def test_ten_steps_and_the_same_text_on_both_roads(well: Visit) -> None:
    first, last = map(float, re.findall(r"\d+\.\d\d", well.found["training"]["found"]))
    assert well.found["training"]["found"] == f"10 steps, loss {first:.2f} to {last:.2f}"
    assert last < first
    assert re.fullmatch(
        r"20 of 20 texts are the same from the engine and from torch, their scores within \S+; \d+ s",
        well.found["translating"]["found"],
    )


def test_every_version_and_path_is_told(well: Visit) -> None:
    for name in LIBRARIES:
        assert re.match(r"\d+\.\d+", well.found[name]["found"]), name
    here = (
        "Python",
        "system",
        "cores",
        "memory",
        "cache",
        "temporary files",
        "current folder",
        "bundled",
        *available(),
    )
    for name in here:
        assert well.found[name]["found"], name
    assert well.found["OMP_NUM_THREADS"]["found"] == os.environ["OMP_NUM_THREADS"]
    assert well.found["torch computes"]["found"].startswith(f"in {os.environ['OMP_NUM_THREADS']} threads; ")


def test_progress_is_shown(well: Visit) -> None:
    assert well.said == [
        "looking at libraries",
        *(f"looking at the bundled model {name}" for name in available()),
        "looking at self-test, training ten steps",
        "looking at self-test, translating",
    ]


# One that is broken


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Visit]:
    """Torch cannot find a file of its own, the engine wants another processor, the cache is no folder."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "torch.py").write_text("raise OSError('libtorch_cpu.so: cannot open shared object file')\n", "utf-8")
    (folder / "ctranslate2.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n", "utf-8")
    (folder / "polib.py").write_text("import nothing_of_the_kind\n", "utf-8")
    (folder / "regard").write_text("", "utf-8")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return folder, visit(PYTHONPATH=path, XDG_CACHE_HOME=str(folder), MKL_NUM_THREADS="many")


@pytest.mark.skipif(sys.platform != "linux", reason="signals, and where the cache is")
def test_what_is_wrong_is_said_with_its_mending(broken: tuple[Path, Visit]) -> None:
    folder, found = broken
    assert {name: one["wrong"] for name, one in found.found.items() if one["wrong"]} == {
        "torch": "torch cannot be imported: OSError: libtorch_cpu.so: cannot open shared object file; "
        "install it again: pip install --force-reinstall torch",
        "ctranslate2": "ctranslate2 cannot be imported: it was ended by SIGILL; "
        "install it again: pip install --force-reinstall ctranslate2",
        "polib": "polib cannot be imported: ModuleNotFoundError: No module named 'nothing_of_the_kind'; "
        "install it again: pip install --force-reinstall polib",
        "MKL_NUM_THREADS": "MKL_NUM_THREADS=many is no number of threads; set it to one, or unset it",
        "cache": f"{folder / 'regard'} cannot be written: File exists; "
        "make it a folder that you may write to, with room in it",
    }
    assert (found.code, found.well) == (1, False)
    assert found.said[-1] == "error: not all is well: torch, ctranslate2, polib, MKL_NUM_THREADS, cache"


@pytest.mark.skipif(sys.platform != "linux", reason="signals, and where the cache is")
def test_the_rest_is_told_all_the_same(broken: tuple[Path, Visit], well: Visit) -> None:
    found = broken[1].found
    for name in (*LIBRARIES, "system", "cores", "Python", "bundled"):
        assert found[name]["found"] == well.found[name]["found"]
    assert found["self-test"]["found"] == "not run: it needs all libraries"


# Its parts


def test_the_libraries_are_those_that_are_installed(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.split(r"[;>=<\s]", dependency)[0] for dependency in project["dependencies"]}
    assert names - ({"backports.zstd"} if sys.version_info >= (3, 14) else set()) == set(LIBRARIES)


def test_a_library_that_is_missing() -> None:
    assert list(library("no-such-library")) == [
        CheckResult(
            "Libraries",
            "no-such-library",
            "missing",
            "no-such-library is not installed; install it: pip install no-such-library",
        )
    ]


def test_a_child_tells_values_beside_whatever_it_prints() -> None:
    code = "import sys\nprint('noise', end='')\ntell({'one': 1})\nsys.stderr.write('more')\ntell(sys.argv[1])"
    assert list(run_child(code, "given")) == [{"one": 1}, "given"]


def test_a_child_that_fails_has_the_last_word() -> None:
    with pytest.raises(ChildError, match=r"^ValueError: no$"):
        list(run_child("raise ValueError('no')"))
    with pytest.raises(ChildError, match=r"^it ended with code 3$"):
        list(run_child("raise SystemExit(3)"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_child_that_is_ended() -> None:
    assert signal.SIGSEGV.name == "SIGSEGV"
    with pytest.raises(ChildError, match=r"^it was ended by SIGSEGV$"):
        list(run_child("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"))


def by_name(findings: Iterator[CheckResult]) -> dict[str, CheckResult]:
    return {finding.name: finding for finding in findings}


@pytest.mark.parametrize(("value", "right"), [("2", True), ("0", False), ("-1", False), ("", False), ("4,2", False)])
def test_numbers_of_threads(monkeypatch: pytest.MonkeyPatch, value: str, right: bool) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert (by_name(computer())["OMP_NUM_THREADS"].wrong is None) == right


def test_the_cache_is_weighed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    assert by_name(paths())["cache"].found.endswith(" free; holds 0 files, 0 MB")
    (tmp_path / "regard" / "fast").mkdir()
    (tmp_path / "regard" / "fast" / "model.bin").write_bytes(bytes(3_000_000))
    assert by_name(paths())["cache"].found.endswith(" free; holds 1 files, 3 MB")


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "LEAST_FREE", 1 << 62)
    found = by_name(paths())["temporary files"]
    assert found.wrong is not None
    assert re.fullmatch(r"only [\d.,]+ [GM]B are free in .*; make room", found.wrong)


def test_nowhere_to_put_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", nowhere)
    assert by_name(paths())["temporary files"].wrong == (
        "No usable temporary directory found in ['/tmp']; make room in one of them"
    )


def test_a_self_test_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_trial, "_CODE", "tell('training')\nraise MemoryError('too little')")
    assert list(training_trial.trial()) == [
        "self-test, training",
        CheckResult("Self-test", "self-test", "failed", "it should train and translate, but: MemoryError: too little"),
    ]


@pytest.mark.parametrize(
    ("losses", "same", "apart", "wrong"),
    [
        ([5.0, 4.0], 20, 1e-5, [False, False]),
        ([5.0, 5.0], 20, 1e-5, [True, False]),
        ([5.0, math.nan], 20, 1e-5, [True, False]),
        ([5.0, 4.0], 19, 1e-5, [False, True]),
        ([5.0, 4.0], 20, 1e-2, [False, True]),
        ([5.0, 4.0], 20, math.nan, [False, True]),
    ],
)
def test_what_a_self_test_must_show(
    monkeypatch: pytest.MonkeyPatch, losses: list[float], same: int, apart: float, wrong: list[bool]
) -> None:
    result = {"losses": losses, "same": same, "apart": apart}
    monkeypatch.setattr(training_trial, "_CODE", f"nan = float('nan')\ntell({result})")
    findings = [found for found in training_trial.trial() if isinstance(found, CheckResult)]
    assert [found.wrong is not None for found in findings] == wrong


def test_a_report_for_people() -> None:
    well, ill = (
        CheckResult("Paths", "cache", "/here"),
        CheckResult("Libraries", "torch", "2.0", "it is broken; mend it"),
    )
    assert list(Diagnosis((well,)).lines()) == ["Paths", "  cache  /here", "", "All is well."]
    assert list(Diagnosis((ill, well)).lines()) == [
        "Libraries",
        "  torch  2.0",
        "  WRONG  it is broken; mend it",
        "Paths",
        "  cache  /here",
        "",
        "Something is wrong, see above.",
    ]
    assert (Diagnosis((well,)).wrong, Diagnosis((ill, well)).wrong) == ([], ["torch"])


def test_sizes_are_told_in_words() -> None:
    assert (format_size(120e6), format_size(3.42e9)) == ("120 MB", "3.4 GB")

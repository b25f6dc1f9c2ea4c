"""The doctor reports no problems on a good installation, and all problems with their fixes on a broken one."""

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
from regard.doctor.libraries import LIBRARIES, check_library
from regard.doctor.system import check_machine, check_paths
from regard.model_folder.bundled import available
from regard.render.units import format_bytes, format_count


@dataclass(frozen=True)
class Report:
    """The output of `regard doctor --json`, with the results by name."""

    code: int
    well: bool
    results: dict[str, dict[str, Any]]
    messages: list[str]


def run_doctor(**environment: str) -> Report:
    process = subprocess.run(
        [sys.executable, "-m", "regard", "doctor", "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    report = json.loads(process.stdout)
    results = {result["name"]: result for result in report["findings"]}
    return Report(process.returncode, report["well"], results, process.stderr.splitlines())


# A good installation


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return run_doctor(XDG_CACHE_HOME=str(tmp_path_factory.mktemp("cache")))


def test_a_good_installation_has_no_problems(good: Report) -> None:
    assert [result for result in good.results.values() if result["wrong"]] == []
    assert (good.code, good.well) == (0, True)


def test_the_self_test_trains_ten_steps_and_both_backends_agree(good: Report) -> None:
    first, last = map(float, re.findall(r"\d+\.\d\d", good.results["training"]["found"]))
    assert good.results["training"]["found"] == f"10 steps, loss {first:.2f} to {last:.2f}"
    assert last < first
    assert re.fullmatch(
        r"CTranslate2 and torch agree on 20 of 20 texts, with scores within \S+; \d+ s",
        good.results["translating"]["found"],
    )


def test_every_version_and_path_is_reported(good: Report) -> None:
    for name in LIBRARIES:
        assert re.match(r"\d+\.\d+", good.results[name]["found"]), name
    names = (
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
    for name in names:
        assert good.results[name]["found"], name
    assert good.results["OMP_NUM_THREADS"]["found"] == os.environ["OMP_NUM_THREADS"]
    assert good.results["torch computes"]["found"].startswith(
        f"in {format_count(int(os.environ['OMP_NUM_THREADS']), 'thread')}; "
    )


def test_progress_is_shown(good: Report) -> None:
    assert good.messages == [
        "checking libraries",
        *(f"checking the bundled model {name}" for name in available()),
        "checking self-test, training ten steps",
        "checking self-test, translating",
    ]


# A broken installation


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """An installation where torch lacks a file, CTranslate2 needs another processor, and the cache is not a folder."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "torch.py").write_text("raise OSError('libtorch_cpu.so: cannot open shared object file')\n", "utf-8")
    (folder / "ctranslate2.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n", "utf-8")
    (folder / "polib.py").write_text("import nothing_of_the_kind\n", "utf-8")
    (folder / "regard").write_text("", "utf-8")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return folder, run_doctor(PYTHONPATH=path, XDG_CACHE_HOME=str(folder), MKL_NUM_THREADS="many")


@pytest.mark.skipif(sys.platform != "linux", reason="depends on signals and the cache folder of Linux")
def test_problems_are_reported_with_their_fixes(broken: tuple[Path, Report]) -> None:
    folder, report = broken
    assert {name: result["wrong"] for name, result in report.results.items() if result["wrong"]} == {
        "torch": "torch cannot be imported: OSError: libtorch_cpu.so: cannot open shared object file; "
        "install it again: pip install --force-reinstall torch",
        "ctranslate2": "ctranslate2 cannot be imported: the process was killed by SIGILL; "
        "install it again: pip install --force-reinstall ctranslate2",
        "polib": "polib cannot be imported: ModuleNotFoundError: No module named 'nothing_of_the_kind'; "
        "install it again: pip install --force-reinstall polib",
        "MKL_NUM_THREADS": "MKL_NUM_THREADS=many is not a number of threads; set it to a positive number, or unset it",
        "cache": f"{folder / 'regard'} cannot be written to: File exists; make it a writable folder with free space",
    }
    assert (report.code, report.well) == (1, False)
    assert report.messages[-1] == "error: failed checks: torch, ctranslate2, polib, MKL_NUM_THREADS, cache"


@pytest.mark.skipif(sys.platform != "linux", reason="depends on signals and the cache folder of Linux")
def test_other_checks_are_reported_despite_problems(broken: tuple[Path, Report], good: Report) -> None:
    results = broken[1].results
    for name in (*LIBRARIES, "system", "cores", "Python", "bundled"):
        assert results[name]["found"] == good.results[name]["found"]
    assert results["self-test"]["found"] == "not run: it needs all libraries"


# Single checks


def test_the_checked_libraries_are_the_dependencies(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.split(r"[;>=<\s]", dependency)[0] for dependency in project["dependencies"]}
    assert names - ({"backports.zstd"} if sys.version_info >= (3, 14) else set()) == set(LIBRARIES)


def test_a_missing_library_is_reported() -> None:
    assert list(check_library("no-such-library")) == [
        CheckResult(
            "Libraries",
            "no-such-library",
            "missing",
            "no-such-library is not installed; install it: pip install no-such-library",
        )
    ]


def test_a_child_process_reports_values_among_other_output() -> None:
    code = "import sys\nprint('noise', end='')\nreport({'one': 1})\nsys.stderr.write('more')\nreport(sys.argv[1])"
    assert list(run_child(code, "given")) == [{"one": 1}, "given"]


def test_a_failed_child_process_is_explained_by_its_last_line() -> None:
    with pytest.raises(ChildError, match=r"^ValueError: no$"):
        list(run_child("raise ValueError('no')"))
    with pytest.raises(ChildError, match=r"^the process exited with code 3$"):
        list(run_child("raise SystemExit(3)"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_killed_child_process_is_explained_by_its_signal() -> None:
    assert signal.SIGSEGV.name == "SIGSEGV"
    with pytest.raises(ChildError, match=r"^the process was killed by SIGSEGV$"):
        list(run_child("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"))


def by_name(results: Iterator[CheckResult]) -> dict[str, CheckResult]:
    return {result.name: result for result in results}


@pytest.mark.parametrize(
    ("value", "valid"), [("2", True), ("0", False), ("-1", False), ("", False), ("4,2", True), ("4,0", False)]
)
def test_the_number_of_threads_must_be_positive(monkeypatch: pytest.MonkeyPatch, value: str, valid: bool) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert (by_name(check_machine())["OMP_NUM_THREADS"].wrong is None) == valid


def test_variables_that_regard_has_set_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    for names, found in (set[str](), "ACTIVE"), ({"OMP_WAIT_POLICY"}, "ACTIVE (set by Regard)"):
        monkeypatch.setattr(system, "set_by_regard", names)
        assert by_name(check_machine())["OMP_WAIT_POLICY"].found == found


def test_the_size_of_the_cache_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    assert by_name(check_paths())["cache"].found.endswith(" free; holds 0 files, 0 MB")
    (tmp_path / "regard" / "ctranslate2").mkdir()
    (tmp_path / "regard" / "ctranslate2" / "model.bin").write_bytes(bytes(3_000_000))
    assert by_name(check_paths())["cache"].found.endswith(" free; holds 1 file, 3 MB")


def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "MIN_FREE_BYTES", 1 << 62)
    result = by_name(check_paths())["temporary files"]
    assert result.wrong is not None
    assert re.fullmatch(r"only [\d.,]+ [GM]B are free in .*; free some space", result.wrong)


def test_a_missing_folder_for_temporary_files_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", fail)
    assert by_name(check_paths())["temporary files"].wrong == (
        "No usable temporary directory found in ['/tmp']; free some space in one of them"
    )


def test_a_failed_self_test_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_trial, "_CODE", "report('training')\nraise MemoryError('too little')")
    assert list(training_trial.check_training()) == [
        "self-test, training",
        CheckResult("Self-test", "self-test", "failed", "Regard cannot train and translate: MemoryError: too little"),
    ]


@pytest.mark.parametrize(
    ("losses", "same", "difference", "wrong"),
    [
        ([5.0, 4.0], 20, 1e-5, [False, False]),
        ([5.0, 5.0], 20, 1e-5, [True, False]),
        ([5.0, math.nan], 20, 1e-5, [True, False]),
        ([5.0, 4.0], 19, 1e-5, [False, True]),
        ([5.0, 4.0], 20, 1e-2, [False, True]),
        ([5.0, 4.0], 20, math.nan, [False, True]),
    ],
)
def test_the_self_test_needs_a_falling_loss_and_equal_translations(
    monkeypatch: pytest.MonkeyPatch, losses: list[float], same: int, difference: float, wrong: list[bool]
) -> None:
    result = {"losses": losses, "same": same, "difference": difference}
    monkeypatch.setattr(training_trial, "_CODE", f"nan = float('nan')\nreport({result})")
    results = [event for event in training_trial.check_training() if isinstance(event, CheckResult)]
    assert [result.wrong is not None for result in results] == wrong


def test_the_diagnosis_as_text() -> None:
    passed, failed = (
        CheckResult("Paths", "cache", "/here"),
        CheckResult("Libraries", "torch", "2.0", "it is broken; fix it"),
    )
    assert list(Diagnosis((passed,)).lines()) == ["Paths", "  cache  /here", "", "No problems found."]
    assert list(Diagnosis((failed, passed)).lines()) == [
        "Libraries",
        "  torch  2.0",
        "  WRONG  it is broken; fix it",
        "Paths",
        "  cache  /here",
        "",
        "There are problems, see above.",
    ]
    assert (Diagnosis((passed,)).wrong, Diagnosis((failed, passed)).wrong) == ([], ["torch"])


def test_numbers_of_bytes_have_units() -> None:
    assert (format_bytes(120e6), format_bytes(3.42e9)) == ("120 MB", "3.4 GB")

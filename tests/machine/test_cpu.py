"""The number of CPUs respects OMP_NUM_THREADS, the affinity mask and the CPU quota of a container."""

from pathlib import Path

import pytest
import torch

from regard.machine import cpu
from regard.machine.cpu import container_cpu_quota, cpu_count, requested_threads
from regard.training.parallel.threads import default_threads


@pytest.mark.parametrize(
    ("value", "threads"),
    [
        ("3", 3),
        ("4,2", 4),
        (" 4 , 2 ", 4),
        ("", None),
        ("0", None),
        ("-1", None),
        ("4,", None),
        ("4,x", None),
        ("²", None),
    ],
)
def test_the_first_number_of_omp_num_threads_counts(
    monkeypatch: pytest.MonkeyPatch, value: str, threads: int | None
) -> None:
    monkeypatch.setattr(cpu, "usable_cpus", lambda: 7)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert requested_threads(value) == threads
    assert cpu_count() == (threads or 7)


@pytest.mark.parametrize(
    ("process", "quota"),
    [
        ("0::/", 3.0),
        ("0::/a", 2.0),
        ("0::/a/b", 1.5),
        ("0::/a/unlimited", 2.0),
        ("0::/only/on/the/host", 3.0),
        ("2:cpu,cpuacct:/c", 0.5),
        ("2:cpu,cpuacct:/unlimited", None),
        ("2:memory:/c", None),
        ("2:cpu:/c\n0::/a/b", 0.5),
    ],
)
def test_the_quota_is_the_smallest_of_all_groups(tmp_path: Path, process: str, quota: float | None) -> None:
    for folder, files in {
        "": {"cpu.max": "300000 100000\n"},
        "a": {"cpu.max": "200000 100000\n"},
        "a/b": {"cpu.max": "75000 50000\n"},
        "a/unlimited": {"cpu.max": "max 100000\n"},
        "cpu/c": {"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n"},
        "cpu/unlimited": {"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"},
    }.items():
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (tmp_path / folder / name).write_text(content, "utf-8")
    (tmp_path / "process").write_text(process + "\n", "utf-8")
    assert container_cpu_quota(tmp_path / "process", tmp_path) == quota


def test_without_cgroups_there_is_no_quota(tmp_path: Path) -> None:
    assert container_cpu_quota(tmp_path / "none", tmp_path) is None


@pytest.mark.parametrize(("quota", "count"), [(None, 8), (0.2, 1), (1.5, 2), (2.0, 2), (64.0, 8)])
def test_a_quota_limits_the_cpus_and_the_threads_of_training(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, count: int
) -> None:
    monkeypatch.setattr(cpu, "available_cpus", lambda: 8)
    monkeypatch.setattr(cpu, "container_cpu_quota", lambda: quota)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert cpu_count() == default_threads() == count
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert (cpu_count(), default_threads()) == (5, 8)  # torch itself follows the variable when it is imported

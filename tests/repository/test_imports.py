"""Imports between modules have no cycle, and importing the library changes nothing in the process."""

import subprocess
import sys
from graphlib import TopologicalSorter

import grimp


def test_modules_have_no_import_cycle() -> None:
    """Imports inside functions and for type checking count too."""
    graph = grimp.build_graph("regard", cache_dir=None)
    modules = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(list(TopologicalSorter(modules).static_order())) == len(graph.modules) > 200


def test_importing_any_module_changes_nothing_in_the_process() -> None:
    """The test covers variables, malloc options, torch, signals, forks, threads, logging and the import path."""
    code = """
import logging, os, pkgutil, signal, sys, threading
from importlib import import_module
import torch
def fail(*arguments, **options):
    raise AssertionError(f"an import calls a function for the whole process: {arguments} {options}")
def state():
    return {
        "environment": dict(os.environ),
        "torch": (torch.get_num_threads(), torch.get_num_interop_threads(), torch.get_default_dtype(),
                  torch.is_grad_enabled(), torch.random.get_rng_state().tolist()),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "path": list(sys.path), "folder": os.getcwd(), "threads": threading.active_count(),
        "logging": (list(logging.root.handlers), logging.root.level),
    }
import regard
from regard.doctor.libraries import LIBRARIES
from regard.machine import malloc
for name in LIBRARIES:  # what other libraries do when they are imported is not tested
    import_module(name)
before = state()
malloc._set_options = torch.set_num_threads = torch.manual_seed = fail
os.register_at_fork = os.putenv = fail
modules = [module.name for module in pkgutil.walk_packages(regard.__path__, "regard.", onerror=fail)]
for name in modules:
    if name != "regard.__main__":
        import_module(name)
after = state()
assert after == before, [name for name in before if before[name] != after[name]]
print(len(modules))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) > 200

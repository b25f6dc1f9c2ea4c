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


def test_importing_the_library_sets_no_environment_variable() -> None:
    code = """
import os
before = dict(os.environ)
import regard, regard.api, regard.cli, regard.inference.translator_loader, regard.training.run
assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())
"""
    subprocess.run([sys.executable, "-c", code], check=True)

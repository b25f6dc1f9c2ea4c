"""The command line. Each command calls the library and prints the result.

Slow imports, such as torch, are inside the functions, so that `--help` and error messages appear without delay.
"""

from regard.cli.commands import (
    average,
    check,
    demo,
    doctor,
    evaluate,
    look,
    measure,
    score,
    serve,
    settings,
    synthetic,
    train,
    translate,
)
from regard.cli.commands.bench import serve as bench_serve
from regard.cli.commands.bench import train as bench_train
from regard.cli.commands.bench import translate as bench_translate
from regard.cli.main import main

__all__ = [
    "average", "bench_serve", "bench_train", "bench_translate", "check", "demo", "doctor", "evaluate", "look", "main",
    "measure", "score", "serve", "settings", "synthetic", "train", "translate",
]  # fmt: skip

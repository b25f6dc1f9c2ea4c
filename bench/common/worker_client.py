"""Start a worker, send it requests and stop it; convert a model to the format of each system."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from common.environments import CACHE, ENVIRONMENTS, SYSTEMS, python_of, variables


class Worker:
    """A system in its own process, loaded and ready."""

    def __init__(self, command: Sequence[str], log: TextIO) -> None:
        self._log = log.name
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=variables()
        )
        hello = self._read()
        self.about: dict[str, Any] = hello["about"]
        self.choices: dict[str, list[dict[str, Any]]] = hello.get("choices", {})

    def translate(self, lines: Sequence[str], beams: int, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the seconds, the texts, and the number of target tokens (`pieces`)."""
        return self._request(lines=lines, beams=beams, settings=settings)

    def train(self, steps: int) -> dict[str, Any]:
        """Return the seconds, the number of target tokens, and the peak memory so far."""
        return self._request(steps=steps)

    def translate_split(self, split: str, beams: int) -> list[str]:
        """Return the translations of a split by the model as it is trained so far."""
        return self._request(split=split, beams=beams)["texts"]

    def _request(self, **request: Any) -> dict[str, Any]:
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._read()

    def stop(self) -> None:
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"error: a worker stopped; its output is in {self._log}")
        return json.loads(line)


@contextmanager
def running_worker(command: Sequence[str], name: str) -> Iterator[Worker]:
    """Start a worker and stop it at the end. Its output goes to a log file of that name."""
    log = CACHE / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        worker = Worker(command, file)
        try:
            yield worker
        finally:
            worker.stop()


def worker_command(environment: str, folder: Path) -> list[str]:
    """Return the command that starts a translation worker for a model, without its last arguments."""
    script = SYSTEMS / f"translate_{environment}.py"
    return [python_of(environment), str(script), str(converted_model(environment, folder))]


def converted_model(environment: str, folder: Path) -> Path:
    """Return the model in the format of a system; convert it on first use."""
    if environment not in ENVIRONMENTS:
        return folder
    script = SYSTEMS / f"translate_{environment}.py"
    inputs = [folder / "manifest.json", script, SYSTEMS / "model_weights.py"]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()[:16]
    out = CACHE / "models" / f"{environment}-{key}"
    if (out / "peer.json").exists():
        return out
    if environment == "ctranslate2":
        run([sys.executable, "-m", "regard.interchange.ctranslate2.export", str(folder), str(out), "float32"])
        files = {"tokenizer": str((folder / "tokenizer.model").resolve())}
        (out / "peer.json").write_text(json.dumps(files), "utf-8")
    else:
        run([python_of(environment), str(script), "--convert", str(folder), str(out)])
    return out


def run(command: Sequence[str], folder: Path | None = None) -> None:
    """Print a command and run it, in a folder if one is given."""
    print("$", *command, flush=True)
    subprocess.run(command, check=True, env=variables(), cwd=folder)

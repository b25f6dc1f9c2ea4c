"""The other end of a worker: start it, ask it, end it; and a model converted to what each program wants."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from peers.environment import CACHE, HERE, PEERS, python_of, variables


class Worker:
    """A system in a process of its own, loaded and waiting."""

    def __init__(self, command: Sequence[str], log: TextIO) -> None:
        self._log = log.name
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=variables()
        )
        hello = self._read()
        self.about: dict[str, Any] = hello["about"]
        self.choices: dict[str, list[dict[str, Any]]] = hello.get("choices", {})

    def translate(self, lines: Sequence[str], beams: int, settings: dict[str, Any]) -> dict[str, Any]:
        """Seconds, texts, and the number of target pieces."""
        return self._ask(lines=lines, beams=beams, settings=settings)

    def train(self, steps: int) -> dict[str, Any]:
        """Seconds, the number of target pieces learnt from, and the most memory held so far."""
        return self._ask(steps=steps)

    def translate_part(self, part: str, beams: int) -> list[str]:
        """What a worker that trains makes of a part of its data, by what it has learnt so far."""
        return self._ask(part=part, beams=beams)["texts"]

    def _ask(self, **request: Any) -> dict[str, Any]:
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._read()

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"error: a worker stopped; what it said is in {self._log}")
        return json.loads(line)


@contextmanager
def working(command: Sequence[str], name: str) -> Iterator[Worker]:
    """A worker, ended when done. What it prints goes to a file of that name."""
    log = CACHE / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        worker = Worker(command, file)
        try:
            yield worker
        finally:
            worker.end()


def command_of(environment: str, folder: Path) -> list[str]:
    """What starts a worker for a model, but for its last arguments."""
    return [python_of(environment), str(HERE / f"with_{environment}.py"), str(_files_for(environment, folder))]


def _files_for(environment: str, folder: Path) -> Path:
    """The model as that program wants it, converted once."""
    if environment not in PEERS:
        return folder
    script = HERE / f"with_{environment}.py"
    recipe = [folder / "manifest.json", script, HERE / "weights.py"]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in recipe)).hexdigest()[:16]
    out = CACHE / "models" / f"{environment}-{key}"
    if (out / "peer.json").exists():
        return out
    if environment == "ctranslate2":
        run([sys.executable, "-m", "regard.interchange.ctranslate2.export", str(folder), str(out), "float32"])
        (out / "peer.json").write_text(json.dumps({"tokenizer": str((folder / "tokenizer.model").resolve())}), "utf-8")
    else:
        run([python_of(environment), str(script), "--convert", str(folder), str(out)])
    return out


def run(command: Sequence[str]) -> None:
    """Run a command to its end, showing it."""
    print("$", *command, flush=True)
    subprocess.run(command, check=True, env=variables())

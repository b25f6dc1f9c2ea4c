"""Tries model folders that an attacker has changed, mostly with a valid manifest.

    python -m tests.robustness.fuzzer MODEL-FOLDER WORK-FOLDER FIRST LAST

tries the mutants with these numbers in one process, so a mutant that ends the process is a bug. It prints one JSON
object. Each mutant may take two seconds of CPU time before the system kills the process.
"""

import json
import random
import resource
import shutil
import signal
import struct
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.inference.backends.core_allocation import allocate_cores
from regard.inference.backends.ctranslate2 import CTranslate2Backend
from regard.inference.backends.torch import TorchBackend
from regard.inference.translator import Translator
from regard.interchange.ctranslate2.cache import FILES, export_key, is_intact_export, is_trusted_export
from regard.model_folder.folder import HASHED, ModelFolder
from regard.model_folder.loader import open_folder
from regard.models.interface import as_autoregressive
from regard.settings.decode import DecodeSettings
from regard.storage.manifest import write_manifest
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

SECONDS = 2.0
DECODE = DecodeSettings(beam_size=2, max_length_offset=4)
NASTY: list[Any] = [
    None, True, -1, 0, 1, 2, 3, 7, 255, 65_536, 2**31 - 1, 2**31, 2**63, 10**40, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "x", "\0", "é" * 5_000, "../../etc/passwd", "transformer", [], [0], {}, {"a": 1}, [[[[]]]],
]  # fmt: skip


def main(model: Path, work: Path, first: int, last: int) -> None:
    outcomes: Counter[str] = Counter()
    escapes: dict[str, str] = {}
    out = work / "mutant"
    check(open_folder(model))  # allocates the memory that any model needs
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(first, last):
        (work / "number").write_text(str(number))
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(model, out)
        mutate(out, random.Random(number))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            outcomes[attempt(out)] += 1
        except Exception:
            escapes[str(number)] = traceback.format_exc()
        signal.setitimer(signal.ITIMER_PROF, 0)
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"outcomes": outcomes, "escapes": escapes, "megabytes": growth}))


def attempt(out: Path) -> str:
    try:
        check(open_folder(out))
    except UserError as error:
        if str(out) not in str(error):
            raise
        return "refused"
    return "accepted"


def check(opened: ModelFolder) -> None:
    """Translate with the model folder on every backend."""
    tokenizer: SentencePieceTokenizer = opened.tokenizer
    text = "the cat eats \u2581 été\t\0 🐈"
    max_positions = opened.settings.max_positions
    torch = TorchBackend(as_autoregressive(opened.build()), tokenizer.generable)
    Translator(torch, tokenizer, max_positions=max_positions).translate(text, DECODE)
    fast = opened.path / "ctranslate2"
    if is_intact_export(fast, export_key(opened.path, "float32", opened.alignment)) and is_trusted_export(fast, opened):
        backend = CTranslate2Backend(
            fast, tokenizer, max_positions=max_positions, cores=allocate_cores(opened.settings.width, cores=1)
        )
        with Translator(backend, tokenizer, max_positions=max_positions) as translator:
            translator.translate(text, DECODE)


def mutate(out: Path, generator: random.Random) -> None:
    folder, names = (out, HASHED) if generator.random() < 0.7 else (out / "ctranslate2", FILES)
    name = generator.choice([*names, "manifest.json"])
    path = folder / name
    for _ in range(generator.choice([1, 1, 1, 2, 5])):
        if path.suffix == ".json" and generator.random() < 0.8:
            path.write_bytes(mutated_json(path.read_bytes(), generator))
        elif path.suffix == ".safetensors" and generator.random() < 0.6:
            path.write_bytes(mutated_tensors(path.read_bytes(), generator))
        else:
            path.write_bytes(mutated_bytes(path.read_bytes(), generator))
    if name != "manifest.json" and generator.random() < 0.9:
        write_manifest(folder, names)
    if folder == out and name != "manifest.json" and generator.random() < 0.5:
        # The CTranslate2 export is read only if it names this model.
        key = json.dumps(export_key(out, "float32", None))
        (out / "ctranslate2" / "made_for.json").write_text(key)
        write_manifest(out / "ctranslate2", FILES)


def mutated_bytes(data: bytes, generator: random.Random) -> bytes:
    at = generator.randrange(len(data) + 1) if generator.random() < 0.7 else generator.randrange(min(len(data), 64) + 1)
    match generator.randrange(6):
        case 0:
            return data[:at] + bytes([generator.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + generator.choice([b"\xff" * 4, b"\xff\xff\xff\x7f", bytes(8)]) + data[at + 4 :]
        case 2:
            return data[:at]
        case 3:
            return data[:at] + generator.randbytes(generator.choice([1, 2, 100])) + data[at:]
        case 4:
            return data[:at] + data[at + generator.choice([1, 2, 50]) :]
        case _:
            start = generator.randrange(len(data) + 1)
            return data[:at] + data[start : start + generator.choice([4, 40, 400])] + data[at:]


def mutated_json(data: bytes, generator: random.Random) -> bytes:
    try:
        value = json.loads(data)
    except (RecursionError, ValueError):
        return mutated_bytes(data, generator)
    if generator.random() < 0.03:
        return b"[" * generator.choice([10, 100_000]) + data
    change(value, generator)
    return json.dumps(generator.choice(NASTY) if generator.random() < 0.03 else value).encode()


def change(value: Any, generator: random.Random) -> None:
    """Replace, delete or rename a random entry of a JSON value in place."""
    while isinstance(value, dict | list) and value:
        key = generator.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and generator.random() < 0.8:
            value = inner
            continue
        match generator.randrange(4):
            case 0:
                del value[key]
            case 1 if isinstance(value, dict):
                value[generator.choice(["", "x", "__class__", "format", "../x"])] = value.pop(key)
            case 2 if type(inner) is int:
                value[key] = inner * generator.choice([-1, 0, 2, 3, 8, 1_000, 10**12]) + generator.choice([0, 0, 1])
            case _:
                value[key] = generator.choice(NASTY)
        return


def mutated_tensors(data: bytes, generator: random.Random) -> bytes:
    """Change types, shapes or offsets in the header of a safetensors file, with a right or wrong header length."""
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length])
    except (RecursionError, ValueError):
        return mutated_bytes(data, generator)
    name = generator.choice([tensor for tensor in header if tensor != "__metadata__"] or [""])
    match generator.randrange(5):
        case 0 if name:
            header[name]["dtype"] = generator.choice(["F64", "I8", "BF16", "F16", "BOOL", "U64", "F8_E4M3", "x"])
        case 1 if name:
            header[name]["shape"] = generator.choice(
                [[], [0], [2**62, 2**62], [1] * 1_000, [-1], header[name]["shape"][::-1]]
            )
        case 2 if name:
            header[name]["data_offsets"] = generator.choice([[0, 0], [0, 2**63], [8, 4], [0, len(data)], [-1, 5]])
        case 3 if name:
            header["more.weight"] = header.pop(name)
        case _:
            change(header, generator)
    encoded = json.dumps(header).encode()
    size = len(encoded) if generator.random() < 0.8 else generator.choice([0, 1, 2**63, 2**31, len(data)])
    return struct.pack("<Q", size) + encoded + data[8 + length :]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))

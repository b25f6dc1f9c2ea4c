"""Measure the memory of `regard translate` while many lines stream through it; it should stay constant.

python bench/check_stream_memory.py MODEL-FOLDER [LINES]

The lines are distinct numbers, so that any model can be used. The search is greedy. Runs on Linux only.
"""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

POINTS = 20


def main(folder: str, lines: int = 1_000_000) -> None:
    command = [sys.executable, "-m", "regard", "translate", "--model", folder, "--set", "decode.beam_size=1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin and process.stdout
        threading.Thread(target=feed, args=(process.stdin, lines), daemon=True).start()
        began = time.monotonic()
        count = 0
        for count, _ in enumerate(process.stdout, start=1):
            if count % (lines // POINTS) == 0:
                speed = count / (time.monotonic() - began)
                print(f"{count:>9,} lines  {memory(process.pid):6.1f} MB  {speed:,.0f} lines per second", flush=True)
    print(f"{count:,} of {lines:,} lines were translated; exit code {process.returncode}")


def feed(stream: IO[bytes], lines: int) -> None:
    with stream:
        for number in range(lines):
            stream.write(b"%d\n" % number)


def memory(process: int) -> float:
    """Return the resident memory of a process in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        print(f"nothing was measured; give a model folder: {(__doc__ or '').splitlines()[2].strip()}")

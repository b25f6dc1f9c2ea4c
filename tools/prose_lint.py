"""Finds words and phrases that the project avoids in code, comments, documentation and messages.

The file prose_lint.toml beside this one lists them, with replacements and exceptions. `make lint` runs this check.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RULES = Path(__file__).with_suffix(".toml")


def main() -> int:
    rules = tomllib.loads(RULES.read_text("utf-8"))
    checks = [(re.compile(one["pattern"], re.IGNORECASE), one["say"], one.get("allow", [])) for one in rules["ban"]]
    problems = [problem for path in _files(rules) for problem in _problems(path, checks)]
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    if problems:
        sys.stdout.write(f"{len(problems)} words to replace; exceptions go into {RULES.relative_to(ROOT)}\n")
    return 1 if problems else 0


def _files(rules: dict[str, list[str]]) -> Iterator[Path]:
    """Yield the files to check: all text files of the repository, also those not yet in git, except skipped ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *rules["files"]]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    skipped = [re.compile(pattern) for pattern in rules["skip"]]
    for name in sorted(set(listed)):
        if (ROOT / name).is_file() and not any(pattern.search(name) for pattern in skipped):
            yield ROOT / name


def _problems(path: Path, checks: list[tuple[re.Pattern[str], str, list[str]]]) -> Iterator[str]:
    name = path.relative_to(ROOT)
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        for pattern, say, allow in checks:
            # An exception is a phrase that the line contains, or the start of the path of the file.
            if (found := pattern.search(line)) and not any(one in line or str(name).startswith(one) for one in allow):
                yield f"{name}:{number}: {found[0]!r}; write {say}"


if __name__ == "__main__":
    sys.exit(main())

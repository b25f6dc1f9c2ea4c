"""Prints a random sample of the docstrings and comments of src/, so that a reader can judge them without the code.

`python tools/sample_docstrings.py [SEED] [COUNT]`
"""

import ast
import random
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "regard"


def main(seed: int = 1, count: int = 40) -> None:
    texts = sorted({text for path in sorted(SOURCE.rglob("*.py")) for text in (*_docstrings(path), *_comments(path))})
    sample = random.Random(seed).sample(texts, count)
    sys.stdout.write(f"seed {seed}: {count} of {len(texts)} docstrings and comments\n\n")
    sys.stdout.writelines(f"{number}. {text}\n" for number, text in enumerate(sample, start=1))


def _docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            name = getattr(node, "name", path.stem)
            if text:
                yield f"[{path.relative_to(SOURCE)}, {name}] {' '.join(text.split())}"


def _comments(path: Path) -> Iterator[str]:
    """Yield each comment with the line of code it belongs to; consecutive comment lines count as one comment."""
    lines = path.read_text("utf-8").splitlines()
    with path.open("rb") as file:
        found = {
            token.start[0]: token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT
        }
    for number in sorted(found):
        alone = lines[number - 1].lstrip().startswith("#")
        if alone and number - 1 in found and lines[number - 2].lstrip().startswith("#"):
            continue
        text, last = found[number], number
        while alone and last + 1 in found and lines[last].lstrip().startswith("#"):
            last += 1
            text += " " + found[last].lstrip("# ")
        if "noqa" in text or "type: ignore" in text or "fmt:" in text:
            continue
        code = lines[last] if alone and last < len(lines) else lines[number - 1].split("  #")[0]
        yield f"[{path.relative_to(SOURCE)}:{number}] {code.strip()}   {text}"


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))

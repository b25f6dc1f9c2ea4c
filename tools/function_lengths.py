"""Prints the longest functions of src/, the 90th percentile of all lengths, and the packages with the most files."""

import ast
import sys
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "regard"


def main() -> None:
    rows = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                rows.append((length, f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}"))
    rows.sort(reverse=True)
    lengths = sorted(length for length, _ in rows)
    files = Counter(path.parent.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    lines = [f"{length:4} lines  {where}" for length, where in rows[:8]]
    lines.append(f"{len(rows)} functions; 90th percentile {lengths[int(0.9 * len(lengths))]} lines")
    lines += [f"{count:4} files  {folder}" for folder, count in files.most_common(6)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

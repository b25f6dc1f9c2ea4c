"""Writes the generated parts of docs/reference/: every command, setting, Python name and JSON key.

    python tools/reference_pages.py            writes them
    python tools/reference_pages.py --check    only says which are out of date, and which names lack a description

`make lint` runs the check.
"""

import sys
from pathlib import Path

from reference.commands import commands_page
from reference.json_output import json_page
from reference.openapi import v1_page
from reference.python_names import python_page, undocumented_names

from regard.settings.reference import as_markdown

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def main() -> int:
    pages = {
        REFERENCE / "commands.md": commands_page(),
        REFERENCE / "settings.md": as_markdown(),
        REFERENCE / "json.md": json_page(REFERENCE / "schemas"),
        REFERENCE / "v1.md": v1_page(REFERENCE / "v1-openapi.json"),
        REFERENCE / "python.md": python_page((REFERENCE / "python.md").read_text("utf-8")),
    }
    problems = [f"{name} has no description" for name in undocumented_names()]
    changed = [path for path, text in pages.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv:
        problems += [f"{path.name} is out of date; run: python tools/reference_pages.py" for path in changed]
    else:
        for path in changed:
            path.write_text(pages[path], "utf-8", newline="\n")
    sys.stdout.writelines(f"docs/reference: {problem}\n" for problem in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Finds links in Markdown files whose file or section does not exist. `make lint` runs this check."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)|<img [^>]*src=\"(?!\w+:)([^\"]+)\"")


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    pages = [ROOT / name for name in sorted(set(listed.stdout.splitlines())) if (ROOT / name).is_file()]
    problems = [problem for page in pages for problem in broken_links(page)]
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    return 1 if problems else 0


def broken_links(page: Path) -> Iterator[str]:
    text = _blank(_FENCE, page.read_text("utf-8"))
    for match in _LINK.finditer(_blank(_CODE, text)):
        link = match[1] or match[2]
        name, _, section = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        number = text.count("\n", 0, match.start()) + 1
        if not target.exists():
            yield f"{page.relative_to(ROOT)}:{number}: {link}: no such file"
        elif section and target.suffix == ".md" and section not in sections(target):
            yield f"{page.relative_to(ROOT)}:{number}: {link}: no such section"


def sections(page: Path) -> set[str]:
    """Return the names under which hosting sites and Sphinx know the headings of a page."""
    headings = re.findall(r"^#+ (.+?)\s*$", _blank(_FENCE, page.read_text("utf-8")), re.MULTILINE)
    names: list[str] = []
    for heading in headings:
        plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[(.+?)\]\(.+?\)", r"\1", heading).lower()).replace(" ", "-")
        names.append(
            f"{plain}-{count}"
            if (count := sum(re.fullmatch(rf"{plain}(-\d+)?", n) is not None for n in names))
            else plain
        )
    return set(names)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Replace what a pattern finds by as many lines."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


if __name__ == "__main__":
    sys.exit(main())

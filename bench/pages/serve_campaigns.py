"""Write the server's section of docs/explanation/reliability.md from the results. No number in it is typed by hand."""

from collections.abc import Mapping
from pathlib import Path

from common.results import latest

BEGIN = "<!-- written by bench/serve_campaigns.py; do not edit below -->"
END = "<!-- end of what bench/serve_campaigns.py writes -->"

INTRODUCTION = """\
## The server

Each line is a campaign of `python bench/serve_campaigns.py NAME` against `regard serve` with its defaults and the
bundled models, with the latest result of each. Other programs occupied the machine during many of them, so times are
upper bounds.
"""


def write_section(results: Path, page: Path, sentences: Mapping[str, str]) -> None:
    """Replace the section in the page, or append it."""
    records = {record["campaign"]: record for record in latest(results, "campaign")}
    if not records:
        return
    lines = [BEGIN, INTRODUCTION]
    for name, sentence in sentences.items():
        if record := records.get(name):
            faults = "" if not record["faults"] else f" **{record['faults']:,} faults.**"
            lines.append(f"- `{name}`: {sentence.format(**record)}{faults}")
    facts = dict.fromkeys(
        f"{records[name]['date']}, {records[name]['machine']}" for name in sentences if name in records
    )
    lines += ["", *facts, "", END]
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(before.rstrip() + "\n\n" + "\n".join(lines) + after.rstrip("\n") + "\n", "utf-8")

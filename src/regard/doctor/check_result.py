"""The results of the doctor's checks, and how they are shown."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `wrong` says what is wrong and how to fix it, or is None if the check succeeded."""

    section: str
    name: str
    found: str
    wrong: str | None = None


@dataclass(frozen=True)
class Diagnosis:
    """The results of all checks."""

    findings: tuple[CheckResult, ...]

    @property
    def wrong(self) -> list[str]:
        """The names of the failed checks."""
        return [result.name for result in self.findings if result.wrong]

    def lines(self) -> Iterator[str]:
        """Yield the results as text."""
        width = max(len(result.name) for result in self.findings)
        for section, results in groupby(self.findings, key=lambda result: result.section):
            yield section
            for result in results:
                yield f"  {result.name:{width}}  {result.found}"
                if result.wrong:
                    yield f"  {'WRONG':>{width}}  {result.wrong}"
        yield ""
        yield "There are problems, see above." if self.wrong else "No problems found."

    def facts(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON."""
        return {"well": not self.wrong, "findings": [asdict(result) for result in self.findings]}

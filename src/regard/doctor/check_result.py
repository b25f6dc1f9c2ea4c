"""What the doctor writes down, and how people and programs read it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True)
class CheckResult:
    """One thing that was looked at; `wrong` says what is wrong with it and how to mend that."""

    section: str
    name: str
    found: str
    wrong: str | None = None


@dataclass(frozen=True)
class Diagnosis:
    """All that was looked at."""

    findings: tuple[CheckResult, ...]

    @property
    def wrong(self) -> list[str]:
        """The names of what is wrong."""
        return [finding.name for finding in self.findings if finding.wrong]

    def lines(self) -> Iterator[str]:
        """For people."""
        wide = max(len(finding.name) for finding in self.findings)
        for part, findings in groupby(self.findings, key=lambda finding: finding.section):
            yield part
            for finding in findings:
                yield f"  {finding.name:{wide}}  {finding.found}"
                if finding.wrong:
                    yield f"  {'WRONG':>{wide}}  {finding.wrong}"
        yield ""
        yield "Something is wrong, see above." if self.wrong else "All is well."

    def facts(self) -> dict[str, Any]:
        """For programs."""
        return {"well": not self.wrong, "findings": [asdict(finding) for finding in self.findings]}

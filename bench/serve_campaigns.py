"""Try what must not break `regard serve`, thousands of times: the server's figures in docs/explanation/reliability.md.

    python bench/serve_campaigns.py                              # all campaigns
    python bench/serve_campaigns.py mutated malformed --count 200
    python bench/serve_campaigns.py --list                       # names and numbers of attempts
    python bench/serve_campaigns.py none                         # only writes the page

Only servers that the campaigns start on the loopback interface are attacked. Results are appended to
bench/results/serve_campaigns.jsonl, and docs/explanation/reliability.md gets the latest result of each campaign. With
--count, a result is kept only if --results names the file. The exit code is 1 if something happened that must not
happen.
"""

import argparse
import inspect
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from campaigns import (
    clients,
    dependencies,
    engine_kills,
    hostile_strings,
    key_coverage,
    limits,
    malformed_messages,
    mutated_requests,
    origins,
    overload,
    same_text,
    schema_requests,
    slow_clients,
    soak,
    termination,
)
from campaigns.outcome import Outcome
from common.environments import ROOT
from common.results import append
from pages.serve_campaigns import write_section

from regard.benchmark.server_process import ServerProcess


@dataclass(frozen=True)
class Campaign:
    """A campaign, its number of attempts, and whether it depends on the speed of the machine."""

    module: ModuleType
    count: int
    timed: bool = False

    @property
    def run(self) -> Callable[..., Outcome]:
        run: Callable[..., Outcome] = self.module.run
        return run


CAMPAIGNS = {
    "hostile": Campaign(hostile_strings, 500),
    "origins": Campaign(origins, 90),
    "keys": Campaign(key_coverage, 10_000),
    "dependencies": Campaign(dependencies, 1),
    "mutated": Campaign(mutated_requests, 10_000),
    "schema": Campaign(schema_requests, 1_000),
    "malformed": Campaign(malformed_messages, 10_000),
    "slow": Campaign(slow_clients, 500, timed=True),
    "limits": Campaign(limits, 100),
    "overload": Campaign(overload, 60, timed=True),
    "termination": Campaign(termination, 20),
    "soak": Campaign(soak, 100_000),
    "clients": Campaign(clients, 1),
    "kills": Campaign(engine_kills, 20),
    "same-text": Campaign(same_text, 5_000),
}

RESULTS = ROOT / "bench" / "results" / "serve_campaigns.jsonl"
PAGE = ROOT / "docs" / "explanation" / "reliability.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CAMPAIGNS), help="campaigns; none only writes the page")
    parser.add_argument("--count", type=int, help="another number of attempts; the result is kept only with --results")
    parser.add_argument("--list", action="store_true", help="print the names of the campaigns")
    parser.add_argument("--results", type=Path, help=f"default: {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    if options.list:
        for name, campaign in CAMPAIGNS.items():
            print(f"{name:12} {campaign.count:>7,}  {(campaign.module.__doc__ or '').splitlines()[0]}")
        return
    if unknown := set(options.names) - {*CAMPAIGNS, "none"}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; the campaigns are {', '.join(CAMPAIGNS)}")
    kept = options.results or (RESULTS if options.count is None else None)
    bad = [name for name in options.names if name != "none" and not run(name, options.count, kept)]
    write_section(
        options.results or RESULTS, options.out, {name: each.module.SENTENCE for name, each in CAMPAIGNS.items()}
    )
    if bad:
        sys.exit(f"faults in: {', '.join(bad)}")


def run(name: str, count: int | None, results: Path | None) -> bool:
    """Run a campaign, print and keep its result, and return whether it found no fault."""
    campaign = CAMPAIGNS[name]
    count = count or campaign.count
    began = time.monotonic()
    if "server" in inspect.signature(campaign.run).parameters:
        server = ServerProcess.start([])
        try:
            outcome = campaign.run(server, count)
        finally:
            server.end()
            for line in server.messages:
                print(f"  server: {line}")
    else:
        outcome = campaign.run(count)
    print(f"{name}: {campaign.module.SENTENCE.format(**outcome.facts)}")
    print(f"{name}: {outcome.fault_count} faults, {time.monotonic() - began:.0f} s", flush=True)
    for fault in outcome.faults:
        print(f"  fault: {fault}")
    if results is not None:
        append(results, campaign=name, **outcome.facts, faults=outcome.fault_count)
    return not outcome.fault_count


if __name__ == "__main__":
    main()

"""Requests that schemathesis makes from the schemas of the server, valid and invalid ones."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from campaigns.outcome import Outcome

from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "schemathesis with at most {examples:,} requests to each operation, valid and invalid ones: {cases:,} requests to "
    "{operations} operations of {schemas} schemas, {failures} failures."
)

# LibreTranslate's schema does not say which values are refused.
_CHECKS = {
    "/v1/openapi.json": "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,unsupported_method",
    "/spec": "not_a_server_error,content_type_conformance,response_schema_conformance",
}


def run(server: ServerProcess, count: int) -> Outcome:
    outcome = Outcome({"examples": count, "schemas": len(_CHECKS), "cases": 0, "operations": 0, "failures": 0})
    with tempfile.TemporaryDirectory() as folder:
        for schema, checks in _CHECKS.items():
            report = Path(folder) / "report.json"
            command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}{schema}", "--url", server.url]
            command += ["--mode", "all", "--max-examples", str(count), "--checks", checks, "--continue-on-failure"]
            command += ["--phases", "coverage,fuzzing", "--suppress-health-check", "all", "--seed", "1", "--no-color"]
            command += ["--generation-database", "none", "--report-json-path", str(report)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
            found = json.loads(report.read_text("utf-8"))
            outcome.count("cases", found["test_cases"]["generated"])
            outcome.count("operations", found["operations"]["tested"])
            outcome.count("failures", found["test_cases"]["unique_failures"] + len(found["errors"]))
            for failure in [*found["failures"], *found["errors"]]:
                outcome.fault(f"{schema}: {json.dumps(failure)[:600]}")
            outcome.check(done.returncode in (0, 1), f"{schema}: {done.stderr[-300:]}")
    return outcome

"""Requests that are generated from the schema of our interface, valid and invalid ones."""

from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tests.robustness.counts import campaign
from tests.server.running import RunningServer

# 413 also refuses a request that breaks the schema: a text that is too long.
CONFIG = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}}})

# Whether a word or an address exists depends on the text and the model, so a valid request may be refused.
INSIDE = ("/v1/alternatives", "/v1/look")


@campaign("generated requests")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_the_server_behaves_as_its_schema_says(
    server: RunningServer, mode: GenerationMode, count: int, record_property: Callable[[str, object], None]
) -> None:
    """Valid requests are accepted, invalid ones are refused, and every answer has the form that the schema gives it."""
    schema = schemathesis.openapi.from_url(f"{server.url}/v1/openapi.json", config=CONFIG)
    checked = []
    for operation in [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]:
        if mode is GenerationMode.NEGATIVE and operation.method == "get":
            continue  # nothing in the request can be wrong

        @settings(max_examples=count, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            fields = case.body if isinstance(case.body, dict) else {}
            # The schema does not say that these need the format text.
            assume(fields.get("format", "text") == "text" or (fields.get("n_best", 1) == 1 and not fields.get("words")))
            case.call_and_validate(excluded_checks=[positive_data_acceptance] if case.operation.path in INSIDE else [])

        check()
        checked.append(operation.label)
    assert "POST /v1/translate" in checked
    done = f"up to {count:,} for each of {len(checked)} routes of /v1, all answered as the schema says"
    record_property("campaign", f"generated requests ({mode.value}): {done}")

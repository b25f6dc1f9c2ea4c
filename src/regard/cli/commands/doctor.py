"""`regard doctor`: checks the installation."""

import json
import sys
from dataclasses import asdict

import click

from regard.cli.main import main
from regard.console import fail, say, show_lines


@main.command()
@click.option(
    "--views", is_flag=True, help="Instead, check `look` and `measure` on a model whose heads are set by hand."
)
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def doctor(views: bool, as_json: bool) -> None:
    """Check the installation.

    The checks cover versions, devices, paths, bundled models, and ten training steps.
    """
    if views:
        _check_views(as_json)
        return
    from regard.doctor.check_result import Diagnosis
    from regard.doctor.diagnosis import diagnose

    for event in diagnose():
        if not isinstance(event, Diagnosis):
            say(f"checking {event}")
            continue
        show_lines([json.dumps(event.facts(), indent=2)] if as_json else event.lines())
        if event.wrong:
            fail(f"failed checks: {', '.join(event.wrong)}")
            sys.exit(1)


def _check_views(as_json: bool) -> None:
    from regard.interpret.selftest.view_checks import check_views

    checks = check_views()
    wrong = [one.name for one in checks if not one.passed]
    lines = [f"{'ok' if one.passed else 'WRONG':6} {one.name}: {one.found}" for one in checks]
    lines += ["", "There are problems, see above." if wrong else "No problems found."]
    show_lines([json.dumps([asdict(one) for one in checks], indent=2)] if as_json else lines)
    if wrong:
        fail(f"these show wrong numbers: {', '.join(wrong)}")
        sys.exit(1)

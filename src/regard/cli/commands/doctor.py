"""`regard doctor`: a diagnosis of the installation."""

import json
import sys
from dataclasses import asdict

import click

from regard.cli.main import main
from regard.console import fail, say, show_lines


@main.command()
@click.option("--views", is_flag=True, help="Check the views and measures on heads planted into a model instead.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def doctor(views: bool, as_json: bool) -> None:
    """See whether all works here: versions, devices, paths, bundled models, and one trained for ten steps and used."""
    if views:
        _check_views(as_json)
        return
    from regard.doctor.check_result import Diagnosis
    from regard.doctor.diagnosis import diagnose

    for found in diagnose():
        if not isinstance(found, Diagnosis):
            say(f"looking at {found}")
            continue
        show_lines([json.dumps(found.facts(), indent=2)] if as_json else found.lines())
        if found.wrong:
            fail(f"not all is well: {', '.join(found.wrong)}")
            sys.exit(1)


def _check_views(as_json: bool) -> None:
    from regard.interpret.selftest.view_checks import check_views

    found = check_views()
    lines = [f"{'right' if one.passed else 'WRONG':6} {one.name}: {one.found}" for one in found]
    show_lines([json.dumps([asdict(one) for one in found], indent=2)] if as_json else lines)
    if wrong := [one.name for one in found if not one.passed]:
        fail(f"views tell what is not so: {', '.join(wrong)}")
        sys.exit(1)

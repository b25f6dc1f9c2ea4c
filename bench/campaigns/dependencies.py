"""The packages of the container image: their minimum versions, their hashes, and what pip-audit knows about them."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib

from campaigns.outcome import Outcome
from common.environments import ROOT
from packaging.requirements import Requirement
from packaging.version import Version

SENTENCE = (
    "{packages} packages in deploy/requirements.txt, {unhashed} without a hash; {minimums}, which pyproject.toml asks "
    "for, {old} older; pip-audit: {audit}."
)

_MINIMUMS = {"torch": "2.10", "sentencepiece": "0.2.2"}  # older ones load untrusted files unsafely
_REQUIREMENTS = ROOT / "deploy" / "requirements.txt"
_ENTRY = re.compile(r"^([\w.-]+)==(\S+) (.*\\\n|.*\n?)", re.MULTILINE)


def run(count: int) -> Outcome:
    """Check all packages; the count has no effect."""
    found = {name: (Version(version), end) for name, version, end in _ENTRY.findall(_REQUIREMENTS.read_text("utf-8"))}
    unhashed = [name for name, (_, end) in found.items() if not end.endswith("\\\n")]
    old = [name for name, version in _MINIMUMS.items() if found[name][0] < Version(version)]
    outcome = Outcome({"packages": len(found), "unhashed": len(unhashed), "old": len(old)})
    outcome.facts["minimums"] = " and ".join(f"{name} ≥ {version}" for name, version in _MINIMUMS.items())
    outcome.check(not unhashed, f"no hash: {unhashed}")
    outcome.check(not old, f"too old: {old}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = {str(Requirement(each).name): str(Requirement(each).specifier) for each in project["dependencies"]}
    outcome.check(all(asked[name] == f">={version}" for name, version in _MINIMUMS.items()), f"pyproject.toml: {asked}")
    outcome.facts["audit"] = _audit(outcome)
    return outcome


def _audit(outcome: Outcome) -> str:
    """Return what pip-audit says; it is not a dependency, and needs a database on the network."""
    if importlib.util.find_spec("pip_audit") is None:
        return "not run, because it is not installed"
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps", "--format", "json"]
    done = subprocess.run([*command, "--requirement", str(_REQUIREMENTS)], capture_output=True, text=True, check=False)
    if not done.stdout:
        return "not run, because its database could not be reached"
    packages = json.loads(done.stdout)["dependencies"]
    audited = [each for each in packages if "skip_reason" not in each]
    if not audited:
        return "not run, because its database could not be reached"
    for each in audited:
        outcome.check(not each["vulns"], f"{each['name']} {each['version']}: {[one['id'] for one in each['vulns']]}")
    vulnerable = sum(bool(each["vulns"]) for each in audited)
    return f"{len(audited)} audited, {vulnerable} with a known vulnerability"

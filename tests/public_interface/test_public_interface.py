"""The public interface is frozen: a changed name, signature, flag, setting or JSON key is a decision."""

import difflib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import pytest
from tests.cli.runner import call, sentences, write
from tests.public_interface.describe import interface_lines

from regard.cli import main
from regard.settings.renamed import RENAMED

HERE = Path(__file__).parent

SCHEMAS = HERE.parents[1] / "docs" / "reference" / "schemas"
COMMANDS = [
    "translate", "score", "evaluate", "check", "settings", "look", "measure heads", "measure pronouns",
    "measure probes", "measure alignment", "bench translate", "bench train", "bench serve", "doctor --views",
]  # fmt: skip


def assert_unchanged(name: str, lines: list[str]) -> None:
    """Compare lines with a file of this folder; with ACCEPT_INTERFACE=1 in the environment, write it instead."""
    path = HERE / name
    if os.environ.get("ACCEPT_INTERFACE"):
        path.write_text("\n".join(lines) + "\n", "utf-8")
    difference = list(
        difflib.unified_diff(path.read_text("utf-8").splitlines(), lines, "frozen", "now", lineterm="", n=0)
    )
    advice = "the public interface changed; if that was decided: ACCEPT_INTERFACE=1 pytest tests/public_interface"
    assert not difference, "\n".join([advice, *difference])


def test_names_flags_and_settings() -> None:
    assert_unchanged("interface.txt", list(interface_lines()))


@pytest.fixture(scope="module")
def commands(model: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, ...]]:
    """Return one call with --json of each command that has the flag."""
    pairs = zip(*((folder / name).read_text("utf-8").splitlines() for name in ("train.en", "train.fr")), strict=True)
    lines = [f"{source}\t{target}" for source, target in pairs]
    tsv = write(tmp_path_factory.mktemp("json") / "test.tsv", [*lines, lines[0], "same\tsame"])
    few = ("--set", "train.batch_tokens=256", "--set", "train.micro_batch_tokens=256")
    return {
        "translate": ("translate", "-m", model, "--n-best", 2, "a bo cat é"),
        "score": ("score", "-m", model, tsv),
        "evaluate": ("evaluate", "-m", model, tsv, "--against", model),
        "check": ("check", tsv, "--set", "tokenizer.vocab_size=300"),
        "settings": ("settings",),
        "look": ("look", "-m", model, "a bo", "--trace", "encoder.1.self.1"),
        "measure heads": ("measure", "heads", "-m", model, "--count", 12),
        "measure pronouns": ("measure", "pronouns", "-m", model, "--count", 12),
        "measure probes": ("measure", "probes", "-m", model, "--count", 40),
        "measure alignment": ("measure", "alignment", "-m", model, "--count", 20),
        "bench translate": ("bench", "translate", "-m", model),
        "bench train": ("bench", "train", folder / "train.en", folder / "train.fr", *few),
        "bench serve": ("bench", "serve", "-m", model, "--clients", 1),
        "doctor --views": ("doctor", "--views"),
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_json_output_follows_its_schema(
    name: str, commands: dict[str, tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("training_speed", "translation_speed", "server_load"):
        monkeypatch.setattr(f"regard.benchmark.{module}._SECONDS", 0.0)
    monkeypatch.setattr("regard.benchmark.training_speed._PEAK_WIDTH", 64)
    monkeypatch.setattr("regard.benchmark.server_load._ROUNDS", 1)
    monkeypatch.setattr("regard.interpret.measure.pronoun_baselines.TRAINING_PAIRS", 50)
    monkeypatch.setattr("regard.interpret.measure.alignment_baselines.TRAINING_PAIRS", 20)
    done = call(*commands[name], "--json", typed="".join(f"{text}\n" for text in sentences(40)).encode())
    assert done.code == 0, done.said
    text = done.output.decode("utf-8")
    value = json.loads(text.splitlines()[0] if name in ("translate", "score") else text)
    schema = json.loads((SCHEMAS / f"{name.partition(' --')[0].replace(' ', '_')}.json").read_text("utf-8"))
    problems = [
        f"{'.'.join(map(str, error.instance_path))}: {error.message}"
        for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(value)
    ]
    assert problems == [], "the JSON output changed; if that was decided, change its schema in docs/reference/schemas"


def test_every_command_with_json_is_frozen() -> None:
    def with_json(path: str, command: click.Command) -> set[str]:
        if isinstance(command, click.Group):
            inner = ((f"{path} {name}".strip(), one) for name, one in command.commands.items())
            return set().union(*(with_json(name, one) for name, one in inner))
        return {path} if any("--json" in parameter.opts for parameter in command.params) else set()

    names = {name.removesuffix(" --views") for name in COMMANDS}
    assert with_json("", main) == names
    assert {path.stem for path in SCHEMAS.glob("*.json")} == {name.replace(" ", "_") for name in names}


def test_schemas_refuse_unknown_and_missing_keys() -> None:
    def objects(schema: Any) -> Iterator[dict[str, Any]]:
        if isinstance(schema, dict):
            if "properties" in schema:
                yield schema
            for value in schema.values():
                yield from objects(value)
        for value in schema if isinstance(schema, list) else ():
            yield from objects(value)

    for path in SCHEMAS.glob("*.json"):
        found = list(objects(json.loads(path.read_text("utf-8"))))
        assert found
        for one in found:
            assert one["additionalProperties"] is False
            assert set(one["properties"]) - set(one["required"]) <= {"norms"}, path.name


@pytest.mark.parametrize("old", list(RENAMED))
def test_an_old_setting_answers_with_its_new_name(old: str) -> None:
    done = call("train", "a.en", "a.fr", "--out", "m", "--set", f"{old}=1")
    assert (done.code, done.said) == (2, f"error: {old} is now {RENAMED[old]}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "a", "--out", "b", "--average"], "--average is now regard average MODEL MODEL --out MODEL"),
        (["train", "a", "--out", "b", "--settings", "c"], "--settings is now --config"),
        (["evaluate", "a", "--scores"], "--scores is now regard score FILES"),
        (["translate", "--fast", "int8", "a"], "--fast is now --compute-type"),
        (["bench", "translate", "--fast", "int8"], "--fast is now --compute-type"),
        (["look", "--pieces", "a"], "--pieces is now --tokens"),
        (["demo", "--write", "a.tsv"], "--write is now regard synthetic --out FILE"),
        (["demo", "--count", "5"], "--count is now regard synthetic --count"),
        (["measure", "it"], "regard measure it is now regard measure pronouns"),
        (["measure", "layers"], "regard measure layers is now regard measure probes"),
    ],
)
def test_an_old_flag_or_command_answers_with_its_new_name(words: list[str], message: str) -> None:
    done = call(*words)
    assert done.code == 2
    assert done.said.endswith(f"Error: {message}\n")


def test_a_users_script_has_no_type_errors(tmp_path: Path) -> None:
    script = HERE / "user_script.py"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import regard\nnumber: int = regard.load().translate("a").text\n', "utf-8")
    done = subprocess.run([*command[:-1], str(wrong)], capture_output=True, text=True, check=False)
    assert "Incompatible types in assignment" in done.stdout  # else the check above would prove nothing


def test_an_old_flag_is_known_however_the_program_is_started() -> None:
    words = ["train", "a", "--out", "b", "--average"]
    done = subprocess.run([sys.executable, "-m", "regard", *words], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("Error: --average is now regard average MODEL MODEL --out MODEL\n")

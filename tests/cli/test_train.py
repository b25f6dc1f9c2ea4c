"""`regard train`: its report, its errors, its options."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.runner import SMALL, SOURCES, TINY, Trained, bad_corpora, call, write
from tests.toy_kind import toy_kind

from regard.cli.commands.train import train
from regard.model_folder.bundled import available
from regard.model_folder.loader import open_folder


def test_train_reports_its_plan_and_result(trained: Trained) -> None:
    assert trained.done.code == 0, trained.done.said
    assert trained.done.output == b""
    said = trained.done.said
    for line in [
        "  size tiny, as requested\n",
        "  60 steps, as requested\n",
        "training: about 1 s\n",
        "step 30: validation loss ",
        f"the model is in {trained.path}; its card is {trained.path / 'card.md'}\n",
    ]:
        assert line in said
    assert re.search(
        r"^kept the .*: validation loss \d+\.\d{3}, BLEU \d+\.\d, chrF \d+\.\d \(3 sentences\)$", said, re.M
    )


def test_a_finished_run_is_not_repeated(folder: Path, trained: Trained) -> None:
    again = call("train", folder / "train.en", folder / "train.fr", "--out", trained.path, "--steps", 60, *SMALL)
    assert again.code == 0
    assert again.said.endswith(f"{trained.path} is already finished; nothing to do\n")


def test_a_different_command_for_the_same_folder_shows_the_difference(folder: Path, trained: Trained) -> None:
    other = call("train", folder / "train.en", folder / "train.fr", "--out", trained.path, "--steps", 61, *SMALL)
    assert other.code == 2
    assert other.said.endswith(
        f"error: {trained.path} holds a run that was started differently:\n  steps: was 60, is now 61\n"
        "use the same command to continue it, or another --out for a new run\n"
    )


@pytest.mark.parametrize(
    "case",
    [
        "missing",
        "a folder",
        "no partner",
        "one line less",
        "one line more",
        "not UTF-8",
        "empty",
        "only blank lines",
        "no tab",
        "two tabs",
        "swapped",
    ],
)
def test_a_bad_corpus_is_named_and_a_corrected_command_works(folder: Path, tmp_path: Path, case: str) -> None:
    files, message = bad_corpora(tmp_path)[case]
    out = tmp_path / "model"
    done = call("train", *files, "--out", out, "--steps", 1, *SMALL)
    assert done.code == 2
    assert f"error: {message}" in done.said
    assert "Traceback" not in done.said
    corrected = call("train", folder / "train.en", folder / "train.fr", "--out", out, "--steps", 1, *SMALL)
    assert corrected.code == 0, corrected.said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "train.stepz=5"], "error: unknown setting train.stepz; did you mean train.steps?\n"),
        (["--set", "model.max_positions=7"], "error: model.max_positions must be at least 8, got 7\n"),
        (["--set", "train.warmup_steps=soon"], "error: train.warmup_steps must be a whole number, got 'soon'\n"),
        (
            ["--set", "nonsense"],
            "error: --set nonsense: write it as section.name=value, for example train.steps=4000\n",
        ),
        (["--budget", "soon"], "error: --budget soon: write a time such as 90s, 20m or 1h30m\n"),
        (["--budget", "20"], "error: --budget 20: write a time such as 90s, 20m or 1h30m\n"),
        (
            ["--budget", "1m", "--steps", "5"],
            "error: use either --steps or --budget, not both: a budget is converted to steps\n",
        ),
        (["--config", "none.toml"], "error: none.toml: no such settings file\n"),
        (
            ["--from", "none"],
            f"error: none: no such model folder; check the name and the current folder ({Path.cwd()}); `regard train "
            f"SOURCE TARGET --out none` trains one; bundled models: {', '.join(available()) or 'none'}\n",
        ),
        (["--size", "huge"], "Invalid value for '--size': 'huge' is not one of 'tiny', 'small', 'base', 'big'."),
        (["--steps", "0"], "Invalid value for '--steps': 0 is not in the range x>=1."),
    ],
)
def test_a_bad_option_is_refused_before_any_work(folder: Path, tmp_path: Path, words: list[str], message: str) -> None:
    out = tmp_path / "model"
    done = call("train", folder / "train.en", folder / "train.fr", "--out", out, *words)
    assert done.code == 2
    assert message in done.said
    assert "Traceback" not in done.said
    assert not out.exists()


def test_an_empty_budget_is_refused(folder: Path, tmp_path: Path) -> None:
    done = call("train", folder / "train.en", folder / "train.fr", "--out", tmp_path / "m", "--budget", "", *SMALL,
                "--set", "train.steps=1")  # fmt: skip
    assert done.code == 2


def test_settings_are_read_from_a_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    sections: dict[str, list[str]] = {}
    for override in TINY:
        name, _, value = override.partition("=")
        section, _, name = name.partition(".")
        sections.setdefault(section, []).append(f"{name} = {value}")
    file.write_text("".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items()), "utf-8")
    out = tmp_path / "model"
    words = ("--config", file, "--set", "model.width=8", "--steps", 1, "--languages", "de", "nl")
    done = call("train", folder / "train.en", folder / "train.fr", "--out", out, "--size", "tiny", *words)
    assert done.code == 0, done.said
    facts = json.loads((out / "settings.json").read_text("utf-8"))
    assert (facts["model"]["width"], facts["model"]["feedforward"]) == (8, 24)
    assert facts["directions"] == [["de", "nl"]]


def test_left_out_lines_are_reported(folder: Path, tmp_path: Path) -> None:
    lines = [*(folder / "train.en").read_text("utf-8").splitlines(), "without a translation"]
    source, target = write(tmp_path / "a.en", lines), write(tmp_path / "a.fr", [*lines[:-1], ""])
    out = tmp_path / "model"
    done = call("train", source, target, "--out", out, "--steps", 1, *SMALL)
    assert f"left out target empty: 1; {out / 'run' / 'tokens' / 'dropped.tsv'} lists them\n" in done.said


def test_validation_files_and_fine_tuning(folder: Path, model: Path, tmp_path: Path) -> None:
    valid = write(tmp_path / "v.tsv", ["a bo\tbo a", "cat dog\tdog cat"])
    out = tmp_path / "better"
    words = ("--from", model, "--valid", valid, "--steps", 2, "--out", out, "--set", "train.batch_tokens=96")
    few = [
        write(tmp_path / name, (folder / name).read_text("utf-8").splitlines()[:20])
        for name in ("train.en", "train.fr")
    ]
    done = call("train", *few, *words)
    assert done.code == 0, done.said
    assert "  fine-tuned from model, with its size and tokenizer\n" in done.said
    assert "(2 sentences)" in done.said
    profiles = [open_folder(path).language_profiles for path in (model, out)]
    assert profiles[0].keys() == {"en", "fr"}
    assert profiles[1] == profiles[0]  # the fine-tuned model keeps those of its parent


def test_the_option_kind_is_the_setting_model_kind(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.benchmark.training_speed._SECONDS", 0.0)
    monkeypatch.setattr("regard.benchmark.training_speed._PEAK_WIDTH", 64)
    data = (folder / "train.en", folder / "train.fr")
    few = (
        "--set",
        "train.batch_tokens=96",
        "--set",
        "train.micro_batch_tokens=96",
        "--set",
        "tokenizer.vocab_size=300",
    )
    choice = next(one.type for one in train.params if one.name == "kind")  # all commands share it
    monkeypatch.setattr(choice, "choices", ("transformer", "toy"))
    with toy_kind():
        out = tmp_path / "model"
        done = call("train", "--kind", "toy", *data, "--out", out, "--steps", "1", *few)
        assert done.code == 0, done.said
        assert open_folder(out).settings.kind == "toy"
        done = call("check", "--kind", "toy", *data, "--json", *few)
        assert [one["size"] for one in json.loads(done.output)["forecast"]["expected"]] == ["tiny"], done.said
        done = call("bench", "train", *data, "--kind", "toy", "--json", *few)
        found = json.loads(done.output)
        parameters = sum(tensor.numel() for tensor in open_folder(out).build().parameters())
        assert (found["size"], found["parameters"]) == ("tiny", parameters), done.said
        done = call("train", "--kind", "toy", "--set", "model.kind=transformer", *data, "--out", out)
        said = "error: the kind of model is given as transformer and as toy; give it once, with --kind\n"
        assert (done.code, done.said) == (2, said)


def test_decode_settings_of_the_run_are_stored_and_used_by_translate(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    words = (*SMALL, "--steps", "1", "--set", "decode.beam_size=2", "--set", "decode.max_length=3")
    assert call("train", folder / "train.en", folder / "train.fr", "--out", out, *words).code == 0
    settings = json.loads((out / "settings.json").read_text("utf-8"))
    assert settings["decode"] == {"beam_size": 2, "max_length_offset": 2, "max_length": 3}
    translated = call("translate", "-m", out, "--json", *SOURCES)
    given = [word for name, value in settings["decode"].items() for word in ("--set", f"decode.{name}={value}")]
    assert translated.output == call("translate", "-m", out, "--json", *SOURCES, *given).output
    assert translated.output != call("translate", "-m", out, "--json", *SOURCES, "--set", "decode.max_length=9").output

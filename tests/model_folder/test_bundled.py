"""The models that come with Regard: found by name and by languages, used when none is named, and never written to."""

import gzip
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from safetensors import safe_open
from tests.cli.test_cli import call

import regard
from regard.cli import main
from regard.cli.commands.bench import bench
from regard.cli.commands.measure import measure
from regard.data.synthetic import FAMOUS, is_famous
from regard.doctor.bundled_models import models, translations
from regard.doctor.check_result import CheckResult
from regard.errors import FolderError
from regard.inference.translator_loader import load_translator
from regard.interchange.ctranslate2 import cache as cache_module
from regard.interchange.ctranslate2.export import ensure_export
from regard.interpret.annotated_pairs import reversed_synthetic_sample, synthetic_sample
from regard.interpret.measure.role_criteria import truth_links
from regard.model_folder import bundled
from regard.model_folder.loader import open_folder
from regard.storage.manifest import sha256

MOST = 40_000_000  # bytes, all of them
TEXT = "the red cat sees a house"


@pytest.fixture(scope="module")
def made(make_model: Callable[..., Path]) -> dict[str, Path]:
    """A small model for each direction, with the engine's files: to make them anew for every test takes long."""
    ways = {1: ("en", "fr"), 2: ("fr", "en")}
    found = {"-".join(way): make_model(seed, languages=way, max_positions=512) for seed, way in ways.items()}
    for folder in found.values():
        ensure_export(folder)
    return found


@pytest.fixture
def shelf(made: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small models in the place of the bundled ones, a cache of one's own, and a current folder without models."""
    for name, folder in made.items():
        shutil.copytree(folder, tmp_path / "shelf" / name)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # for child processes
    monkeypatch.setattr(bundled, "HERE", tmp_path / "shelf")
    return tmp_path / "shelf"


def text(*words: object) -> str:
    """What `translate` writes."""
    done = call("translate", *words, TEXT)
    assert done.code == 0, done.said
    (line,) = done.lines
    return line


# Which there are


def test_names_and_languages(shelf: Path) -> None:
    assert bundled.available() == ["en-fr", "fr-en"]
    assert bundled.for_languages() == bundled.for_languages(("en", "fr")) == shelf / "en-fr"
    assert bundled.for_languages(("fr", "en")) == shelf / "fr-en"


def test_languages_that_are_not_bundled(shelf: Path) -> None:
    done = call("translate", "--languages", "de", "en", "Hallo.")
    assert (done.code, done.output) == (2, b"")
    assert done.said == (
        "error: no model de-en comes with Regard, only en-fr, fr-en; train your own: "
        "`regard train SOURCE TARGET --out my-model` makes it, and --model my-model uses it\n"
    )


@pytest.mark.parametrize("words", [[], ["--languages", "fr", "en"]])
def test_a_copy_without_models(shelf: Path, words: list[str]) -> None:
    shutil.rmtree(shelf)
    done = call("translate", *words, "Hello.")
    assert (done.code, done.output) == (2, b"")
    assert done.said == (
        "error: this copy of Regard comes without models; name a model folder of your own: "
        "`regard train SOURCE TARGET --out my-model` makes one, and --model my-model uses it\n"
    )


def test_a_folder_that_is_not_finished_is_no_model(shelf: Path) -> None:
    (shelf / "fr-en" / "manifest.json").unlink()
    assert bundled.available() == ["en-fr"]


def test_a_name_that_is_neither_a_folder_nor_bundled(shelf: Path) -> None:
    done = call("translate", "--model", "en-de", "x")
    assert done.code == 2
    assert done.said == (
        f"error: en-de: no such model folder; check the name and the current folder ({Path.cwd()}); "
        "`regard train SOURCE TARGET --out en-de` makes one; with Regard come en-fr, fr-en\n"
    )


# Which is used


def test_without_a_model_the_bundled_one_translates(shelf: Path) -> None:
    first, second = text("--model", shelf / "en-fr"), text("--model", shelf / "fr-en")
    assert first != second
    assert text() == text("--model", "en-fr") == text("--languages", "en", "fr") == first
    assert text("--model", "fr-en") == text("--languages", "fr", "en") == second


def test_a_folder_in_the_current_one_wins_by_its_name_alone(shelf: Path) -> None:
    other = text("--model", "fr-en")
    shutil.copytree(shelf / "fr-en", "en-fr")
    assert text("--model", "en-fr") == other
    assert text() == text("--languages", "en", "fr") == text("--model", shelf / "en-fr") != other


def test_languages_and_a_model_together_are_refused(shelf: Path) -> None:
    for words in (["--model", "fr-en", "--languages", "fr", "en"], ["--languages", "fr", "en", "--model", "fr-en"]):
        done = call("translate", *words, "x")
        assert (done.code, done.output) == (2, b"")
        assert done.said == (
            "error: --languages chooses among the bundled models, and --model names one; leave one of them out\n"
        )


def test_in_python(shelf: Path) -> None:
    first, second = text(), text("--model", "fr-en")
    for loads in (regard.load, load_translator):
        assert loads().translate(TEXT).text == loads("en-fr").translate(TEXT).text == first
        assert loads("fr-en").translate(TEXT).text == second
    assert regard.load().name == "en-fr"
    with pytest.raises(FolderError, match=r"^en-de: no such model folder; .*; with Regard come en-fr, fr-en$"):
        regard.load("en-de")


def test_every_command_that_takes_a_model_does_without(shelf: Path) -> None:
    groups = {"": main, "measure ": measure, "bench ": bench}
    commands = {prefix + name: one for prefix, group in groups.items() for name, one in group.commands.items()}
    found = {}
    for name, command in commands.items():
        if any("--model" in parameter.opts for parameter in command.params):
            # A command remembers the first names of --help that it hears of.
            words, names = ["test.tsv"] if name == "evaluate" else [], main.context_settings["help_option_names"]
            given = command.make_context(name, words, help_option_names=names).params
            found[name] = given.get("models") or (given["model"],)
    alone = ("bench translate", "look", "measure alignment", "measure heads", "measure it", "measure layers")
    assert found == dict.fromkeys(("evaluate", "translate", *alone), (Path("en-fr"),))


def test_a_fine_tune_of_a_bundled_model(shelf: Path) -> None:
    before = {file: file.read_bytes() for file in shelf.rglob("*") if file.is_file()}
    Path("more.tsv").write_text("".join(f"cat {n}\tchat {n}\n" for n in range(60)), "utf-8")
    for _ in regard.train(["more.tsv"], parent="en-fr", out="mine", steps=1):
        pass
    assert open_folder(Path("mine")).languages == ("en", "fr")
    assert "Fine-tuned from the model `en-fr`" in Path("mine/card.md").read_text("utf-8")
    assert {file: file.read_bytes() for file in shelf.rglob("*") if file.is_file()} == before


# Used, not written


def test_a_bundled_model_is_made_ready_once_and_says_so(shelf: Path) -> None:
    shutil.rmtree(shelf / "en-fr" / "fast")
    before = sorted(shelf.rglob("*"))
    assert call("translate", TEXT).said == "making en-fr ready in float32, once: it takes some seconds\n"
    assert call("translate", TEXT).said == ""
    assert sorted(shelf.rglob("*")) == before


def test_measuring_the_alignment_stores_nothing_in_a_bundled_model(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.interpret.measure.alignment_heads.AlignmentHeadResult.usable", True)
    before = sorted(shelf.rglob("*"))
    for name in ("en-fr", "fr-en"):
        done = call("measure", "alignment", "--model", name, "--count", 10)
        assert done.code == 0, done.said
        assert done.lines[-1] == f"not stored: {name} comes with Regard and stays as it is; a copy of it can be changed"
    assert sorted(shelf.rglob("*")) == before


def test_a_sample_turned_round_has_the_same_links(shelf: Path) -> None:
    tokenizer = open_folder(shelf / "en-fr").tokenizer
    plain, turned = (sample(tokenizer, 20) for sample in (synthetic_sample, reversed_synthetic_sample))
    for one, other in zip(plain.pairs, turned.pairs, strict=True):
        assert (one.source, one.target) == (other.target, other.source)
        assert one.annotations and other.annotations
        words = [(one.annotations.source[a].text, one.annotations.target[b].text) for a, b in one.annotations.alignment]
        assert [
            (other.annotations.target[b].text, other.annotations.source[a].text) for a, b in other.annotations.alignment
        ] == words
        assert {(b, a) for a, b in truth_links(other)} <= set(one.annotations.alignment)


# The doctor


def test_the_doctor_translates_with_each(shelf: Path) -> None:
    assert models().found == "en-fr, 0 MB; fr-en, 0 MB"
    found = list(translations())
    assert found[::2] == ["the bundled model en-fr", "the bundled model fr-en"]
    sources = {"en-fr": "I am a student.", "fr-en": "Je suis étudiant."}
    for finding, (name, source) in zip(found[1::2], sources.items(), strict=True):
        assert isinstance(finding, CheckResult) and finding.wrong is None
        assert finding.name == name
        assert finding.found.startswith(f"{source} → {load_translator(shelf / name).translate(source).text}; ")


def test_the_doctor_names_a_model_that_is_damaged(shelf: Path) -> None:
    (shelf / "en-fr" / "weights.safetensors").write_bytes(b"")
    finding = list(translations())[1]
    assert isinstance(finding, CheckResult) and finding.wrong is not None
    assert finding.wrong.startswith("it should translate, but: ")
    assert "has 0 bytes instead of" in finding.wrong


def test_the_doctor_without_models(shelf: Path) -> None:
    shutil.rmtree(shelf)
    assert models() == CheckResult("Models", "bundled", "none in this copy of Regard")
    assert list(translations()) == []


# The ones that ship


def test_both_are_there_whole_and_small() -> None:
    assert bundled.available() == ["en-fr", "fr-en"]
    for name in bundled.available():
        opened = open_folder(bundled.HERE / name)
        assert opened.languages == tuple(name.split("-"))
        assert opened.alignment is not None
        assert {file.name for file in opened.path.iterdir()} == {
            "alignment.json",
            "card.md",
            "manifest.json",
            "settings.json",
            "tokenizer.model",
            "weights.safetensors",
        }
    assert sum(file.stat().st_size for file in bundled.HERE.rglob("*") if file.is_file()) <= MOST


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_the_weights_are_in_half_precision(name: str) -> None:
    with safe_open(bundled.HERE / name / "weights.safetensors", "numpy") as file:
        assert {file.get_slice(tensor).get_dtype() for tensor in file.keys()} == {"F16"}  # noqa: SIM118 (no dictionary)


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_half_precision_gives_the_same_text_on_both_roads(name: str) -> None:
    side = int(name == "fr-en")
    texts = list(dict.fromkeys(pair[side] for pair in FAMOUS))
    engine, torch = (load_translator(bundled.HERE / name, fast=road).translate_all(texts) for road in ("float32", None))
    assert [found.text for found in engine] == [found.text for found in torch]
    for one, other in zip(engine, torch, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-3)


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_the_card_tells_all(name: str) -> None:
    card = (bundled.HERE / name / "card.md").read_text("utf-8")
    parts = ["Data", "Model", "Training", "Scores on test sets", "How it was made", "Limits", "Licence"]
    for part in [*parts, *(["What “it” stands for"] if name == "en-fr" else [])]:
        assert f"\n## {part}\n" in card, part
    assert "CC BY 2.0 FR" in card
    assert "Fill in" not in card


# What they were made of


@pytest.fixture
def script(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Loads a script of recipes/, which may import another."""
    monkeypatch.syspath_prepend(str(repository / "recipes"))

    def loads(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"recipes_{name}", repository / "recipes" / f"{name}.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield loads
    sys.modules.pop("corpora", None)


def test_no_famous_sentence_is_learnt_from(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = script("corpora")
    lines = [f"{en}\t{fr}" for en, fr in FAMOUS] + ["I AM a student!\tJe suis une étudiante.", "Hi.\tSalut.\tmore"]
    for part in ("train", "val"):
        (tmp_path / f"{part}.tsv.gz").write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))
    monkeypatch.setattr(data, "TATOEBA", tmp_path)
    monkeypatch.setattr(data, "LANGUAGE", {"train": 50, "valid": 20})
    monkeypatch.setattr(data, "FLIPS", {"train": 30, "valid": 10})
    monkeypatch.setattr(sys, "argv", ["corpora.py", str(tmp_path / "out")])
    data.main()
    found = {}
    for path in sorted((tmp_path / "out").rglob("*.tsv")):
        pairs = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        assert not any(is_famous(side) for pair in pairs for side in pair)
        found[f"{path.parent.name}/{path.name}"] = pairs
    assert {name: len(pairs) for name, pairs in found.items()} == {
        f"{way}/{part}": count
        for way in ("en-fr", "fr-en")
        for part, count in (
            ("flips-train.tsv", 60),
            ("flips-valid.tsv", 20),
            ("language-train.tsv", 50),
            ("language-valid.tsv", 20),
            ("tatoeba-train.tsv", 1),
            ("tatoeba-val.tsv", 1),
        )
    }
    for name, pairs in found.items():
        if name.startswith("fr-en"):
            assert [pair[::-1] for pair in pairs] == found[name.replace("fr-en", "en-fr")]
    assert found["en-fr/tatoeba-train.tsv"] == [["Hi.", "Salut."]]


def test_a_famous_sentence_in_what_was_written_is_noticed(script: Callable[[str], ModuleType], tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("Hi.\tSalut.\nI am learning.\tJe suis étudiant.\n", "utf-8")
    with pytest.raises(AssertionError, match="Je suis étudiant"):
        script("corpora").check(tmp_path / "pairs.tsv")


def test_the_authors_are_named_once_each(script: Callable[[str], ModuleType]) -> None:
    line = "CC-BY 2.0 (France) Attribution: tatoeba.org #{} ({}) & #{} ({})\n"
    authors = script("attribution").authors
    assert authors([line.format(1, "b", 2, "C_d"), line.format(3, "a b", 4, "b")]) == ["a b", "b", "C_d"]
    with pytest.raises(AssertionError, match="not a line of attribution: 'Hello"):
        authors(["Hello\n"])


@pytest.mark.shared_data
def test_the_notice_is_what_the_script_writes(
    script: Callable[[str], ModuleType], repository: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_SHARED_DATA", str(shared_data))
    notice = script("attribution")
    with gzip.open(shared_data / "tatoeba" / "en-fr" / "attribution.tsv.gz", "rt", encoding="utf-8") as lines:
        assert (repository / "NOTICE").read_text("utf-8") == notice.written(notice.authors(lines))


def test_a_card_has_the_commands_of_the_plans_and_the_curve_of_the_logs(
    script: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    request = {
        "training data": [[{"name": "a.tsv"}], [{"name": "b.tsv"}]],
        "validation data": [[{"name": "v.tsv"}]],
        "weights": [1.0, 0.4],
        "languages": ["en", "fr"],
        "size": None,
        "from": None,
        "settings": {"model.width": 192, "train.dropout": 0.1},
    }
    runs = [tmp_path / "first", tmp_path / "second"]
    for run in runs:
        (run / "run").mkdir(parents=True)
        (run / "manifest.json").write_text("{}", "utf-8")
        plan = {"request": request, "settings": {"train": {"steps": 9}}}
        (run / "run" / "plan.json").write_text(json.dumps(plan), "utf-8")
        taken = [(1, 600), (2, 9), (2, 300)]  # the second step again, after a stop
        log: list[dict[str, float]] = [{"step": step, "seconds": seconds} for step, seconds in taken]
        log.append({"step": 2, "validation_loss": 1.5, "bleu": 2, "chrf": 30})
        (run / "run" / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log), "utf-8")
        request["from"] = sha256(run / "manifest.json")
        request["settings"] = {}
    (made, said), (curve, rows) = script("bundle").made(runs, "en-fr")
    assert (made, curve) == ("How it was made", "Learning curve")
    assert said.splitlines()[-2:] == [
        "    regard train a.tsv b.tsv=0.4 --valid v.tsv --languages en fr --out first --steps 9 "
        "--set model.width=192 --set train.dropout=0.1",
        "    regard train a.tsv b.tsv=0.4 --valid v.tsv --languages en fr --out second --from first --steps 9",
    ]
    assert rows.splitlines()[-2:] == [
        "| first | 2 | 15 | 1.500 | 2.0 | 30.0 |",
        "| second | 2 | 30 | 1.500 | 2.0 | 30.0 |",
    ]
    with pytest.raises(AssertionError, match="is not from"):
        list(script("bundle").made(runs[::-1], "en-fr"))

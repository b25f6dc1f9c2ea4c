"""The bundled models: found by name and by languages, used by default, and never written to."""

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
from tests.cli.runner import call

import regard
from regard.cli import main
from regard.cli.commands.bench.group import bench
from regard.cli.commands.measure import measure
from regard.data.synthetic import FAMOUS, is_famous
from regard.doctor.bundled_models import check_models, check_translations
from regard.doctor.check_result import CheckResult
from regard.errors import FolderError
from regard.inference.translator_loader import load_translator
from regard.interchange.ctranslate2 import cache as cache_module
from regard.interchange.ctranslate2.export import ensure_export
from regard.interpret.annotated_pairs import reversed_synthetic_sample, synthetic_sample
from regard.interpret.measure.role_criteria import gold_alignment
from regard.model_folder import bundled
from regard.model_folder.loader import open_folder
from regard.storage.manifest import sha256

MAX_BYTES = 40_000_000  # of all bundled models together
TEXT = "the red cat sees a house"


@pytest.fixture(scope="module")
def small_models(make_model: Callable[..., Path]) -> dict[str, Path]:
    """A small model for each direction, already exported to CTranslate2, which takes long."""
    seeds = {1: ("en", "fr"), 2: ("fr", "en")}
    models = {"-".join(pair): make_model(seed, languages=pair, max_positions=512) for seed, pair in seeds.items()}
    for folder in models.values():
        ensure_export(folder)
    return models


@pytest.fixture
def bundle(small_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small models in place of the bundled ones, a separate cache, and a current folder without models."""
    for name, folder in small_models.items():
        shutil.copytree(folder, tmp_path / "bundle" / name)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # for child processes
    monkeypatch.setattr(bundled, "HERE", tmp_path / "bundle")
    return tmp_path / "bundle"


def text(*words: object) -> str:
    """Return the output of `regard translate`."""
    done = call("translate", *words, TEXT)
    assert done.code == 0, done.said
    (line,) = done.lines
    return line


# Finding a bundled model


def test_bundled_models_are_found_by_their_languages(bundle: Path) -> None:
    assert bundled.available() == ["en-fr", "fr-en"]
    assert bundled.for_languages() == bundled.for_languages(("en", "fr")) == bundle / "en-fr"
    assert bundled.for_languages(("fr", "en")) == bundle / "fr-en"


def test_languages_without_a_bundled_model_are_refused(bundle: Path) -> None:
    done = call("translate", "--languages", "de", "en", "Hallo.")
    assert (done.code, done.output) == (2, b"")
    assert done.said == (
        "error: no bundled model de-en; the bundled models are en-fr, fr-en; train your own with "
        "`regard train SOURCE TARGET --out my-model` and use it with --model my-model\n"
    )


@pytest.mark.parametrize("words", [[], ["--languages", "fr", "en"]])
def test_an_installation_without_bundled_models_says_how_to_get_one(bundle: Path, words: list[str]) -> None:
    shutil.rmtree(bundle)
    done = call("translate", *words, "Hello.")
    assert (done.code, done.output) == (2, b"")
    assert done.said == (
        "error: this copy of Regard has no bundled models; train one with `regard train SOURCE TARGET --out my-model` "
        "and use it with --model my-model\n"
    )


def test_a_folder_without_a_manifest_is_not_a_bundled_model(bundle: Path) -> None:
    (bundle / "fr-en" / "manifest.json").unlink()
    assert bundled.available() == ["en-fr"]


def test_a_name_that_is_neither_a_folder_nor_a_bundled_model_is_refused(bundle: Path) -> None:
    done = call("translate", "--model", "en-de", "x")
    assert done.code == 2
    assert done.said == (
        f"error: en-de: no such model folder; check the name and the current folder ({Path.cwd()}); "
        "`regard train SOURCE TARGET --out en-de` trains one; bundled models: en-fr, fr-en\n"
    )


# Choosing a model


def test_the_default_is_the_bundled_english_french_model(bundle: Path) -> None:
    first, second = text("--model", bundle / "en-fr"), text("--model", bundle / "fr-en")
    assert first != second
    assert text() == text("--model", "en-fr") == text("--languages", "en", "fr") == first
    assert text("--model", "fr-en") == text("--languages", "fr", "en") == second


def test_a_local_folder_takes_precedence_over_a_bundled_model_of_its_name(bundle: Path) -> None:
    other = text("--model", "fr-en")
    shutil.copytree(bundle / "fr-en", "en-fr")
    assert text("--model", "en-fr") == other
    assert text() == text("--languages", "en", "fr") == text("--model", bundle / "en-fr") != other


def test_languages_together_with_a_model_are_refused(bundle: Path) -> None:
    for words in (["--model", "fr-en", "--languages", "fr", "en"], ["--languages", "fr", "en", "--model", "fr-en"]):
        done = call("translate", *words, "x")
        assert (done.code, done.output) == (2, b"")
        assert done.said == (
            "error: --languages chooses among the bundled models, and --model names one; leave one of them out\n"
        )


def test_python_chooses_bundled_models_like_the_command_line(bundle: Path) -> None:
    first, second = text(), text("--model", "fr-en")
    for load in (regard.load, load_translator):
        assert load().translate(TEXT).text == load("en-fr").translate(TEXT).text == first
        assert load("fr-en").translate(TEXT).text == second
    assert regard.load().name == "en-fr"
    with pytest.raises(FolderError, match=r"^en-de: no such model folder; .*; bundled models: en-fr, fr-en$"):
        regard.load("en-de")


def test_messages_about_several_models_use_the_names_of_bundled_models(bundle: Path) -> None:
    for run in (lambda: regard.load("en-fr", "fr-en"), lambda: regard.average(["en-fr", "fr-en"], out="mean")):
        with pytest.raises(FolderError, match=r"^en-fr translates en to fr, but fr-en translates fr to en; "):
            run()


def test_every_command_with_a_model_option_has_a_default(bundle: Path) -> None:
    groups = {"": main, "measure ": measure, "bench ": bench}
    commands = {prefix + name: each for prefix, group in groups.items() for name, each in group.commands.items()}
    defaults = {}
    del commands["serve"]  # its default is all bundled models
    for name, command in commands.items():
        if any("--model" in parameter.opts for parameter in command.params):
            # click keeps the names of --help that a command gets first.
            words = ["test.tsv"] if name in ("evaluate", "score") else []
            names = main.context_settings["help_option_names"]
            parameters = command.make_context(name, words, help_option_names=names).params
            defaults[name] = parameters.get("models") or (parameters["model"],)
    measurements = [f"measure {name}" for name in ("alignment", "heads", "probes", "pronouns")]
    assert defaults == dict.fromkeys(
        ("bench serve", "bench translate", "evaluate", "look", "score", "translate", *measurements), (Path("en-fr"),)
    )


def test_fine_tuning_a_bundled_model_does_not_change_it(bundle: Path) -> None:
    before = {file: file.read_bytes() for file in bundle.rglob("*") if file.is_file()}
    Path("more.tsv").write_text("".join(f"cat {n}\tchat {n}\n" for n in range(60)), "utf-8")
    for _ in regard.iter_train(["more.tsv"], parent="en-fr", out="mine", steps=1):
        pass
    assert open_folder(Path("mine")).languages == ("en", "fr")
    assert "Fine-tuned from the model `en-fr`" in Path("mine/card.md").read_text("utf-8")
    assert {file: file.read_bytes() for file in bundle.rglob("*") if file.is_file()} == before


# Bundled models are not written to


def test_a_bundled_model_is_exported_once_with_a_message(bundle: Path) -> None:
    shutil.rmtree(bundle / "en-fr" / "ctranslate2")
    before = sorted(bundle.rglob("*"))
    exporting = "exporting en-fr to CTranslate2 in float32; this happens once\n"
    first, second = (call("translate", TEXT).said for _ in range(2))
    assert first == exporting + second  # the second has warnings about the text of this random model
    assert sorted(bundle.rglob("*")) == before


def test_measuring_the_alignment_does_not_change_a_bundled_model(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.interpret.measure.alignment_heads.AlignmentHeadResult.usable", True)
    monkeypatch.setattr("regard.interpret.measure.alignment_baselines.TRAINING_PAIRS", 20)
    before = sorted(bundle.rglob("*"))
    for name in ("en-fr", "fr-en"):
        done = call("measure", "alignment", "--model", name, "--count", 10)
        assert done.code == 0, done.said
        assert done.lines[-1] == f"not stored: {name} is a bundled model and is not changed; copy it first"
    assert sorted(bundle.rglob("*")) == before


def test_a_reversed_sample_has_the_reversed_alignment(bundle: Path) -> None:
    tokenizer = open_folder(bundle / "en-fr").tokenizer
    plain, backwards = (sample(tokenizer, 20) for sample in (synthetic_sample, reversed_synthetic_sample))
    for forward, backward in zip(plain.pairs, backwards.pairs, strict=True):
        assert (forward.source, forward.target) == (backward.target, backward.source)
        known, reverse = forward.annotations, backward.annotations
        assert known and reverse
        words = [(known.source[a].text, known.target[b].text) for a, b in known.alignment]
        assert [(reverse.target[b].text, reverse.source[a].text) for a, b in reverse.alignment] == words
        assert {(b, a) for a, b in gold_alignment(backward)} <= set(known.alignment)


# The doctor command


def test_the_doctor_translates_with_each_bundled_model(bundle: Path) -> None:
    assert check_models().found == "en-fr, 1 MB; fr-en, 1 MB"
    found = list(check_translations())
    assert found[::2] == ["the bundled model en-fr", "the bundled model fr-en"]
    sources = {"en-fr": "I am a student.", "fr-en": "Je suis étudiant."}
    for finding, (name, source) in zip(found[1::2], sources.items(), strict=True):
        assert isinstance(finding, CheckResult) and finding.wrong is None
        assert finding.name == name
        assert finding.found.startswith(f"{source} → {load_translator(bundle / name).translate(source).text}; ")


def test_the_doctor_reports_a_damaged_bundled_model(bundle: Path) -> None:
    (bundle / "en-fr" / "weights.safetensors").write_bytes(b"")
    finding = list(check_translations())[1]
    assert isinstance(finding, CheckResult) and finding.wrong is not None
    assert finding.wrong.startswith("the model cannot translate: ")
    assert "has 0 bytes instead of" in finding.wrong


def test_the_doctor_reports_an_installation_without_bundled_models(bundle: Path) -> None:
    shutil.rmtree(bundle)
    assert check_models() == CheckResult("Models", "bundled", "none are installed")
    assert list(check_translations()) == []


# The real bundled models


def test_both_bundled_models_are_complete_and_small() -> None:
    assert bundled.available() == ["en-fr", "fr-en"]
    for name in bundled.available():
        opened = open_folder(bundled.HERE / name)
        assert opened.languages == tuple(name.split("-"))
        assert opened.alignment is not None
        assert {file.name for file in opened.path.iterdir()} == {
            "card.md",
            "language_profiles.json",
            "manifest.json",
            "settings.json",
            "tokenizer.model",
            "weights.safetensors",
        }
    assert sum(file.stat().st_size for file in bundled.HERE.rglob("*") if file.is_file()) <= MAX_BYTES


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_the_parameters_are_in_half_precision(name: str) -> None:
    with safe_open(bundled.HERE / name / "weights.safetensors", "numpy") as file:
        assert {file.get_slice(tensor).get_dtype() for tensor in file.keys()} == {"F16"}  # noqa: SIM118 (no dictionary)


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_both_backends_give_the_same_text_in_half_precision(name: str) -> None:
    side = int(name == "fr-en")
    texts = list(dict.fromkeys(pair[side] for pair in FAMOUS))
    ctranslate2, torch = (
        load_translator(bundled.HERE / name, backend=backend).translate(texts) for backend in ("auto", "torch")
    )
    assert [translation.text for translation in ctranslate2] == [translation.text for translation in torch]
    for fast, slow in zip(ctranslate2, torch, strict=True):
        assert fast.score == pytest.approx(slow.score, abs=1e-3)


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_the_card_has_all_sections(name: str) -> None:
    card = (bundled.HERE / name / "card.md").read_text("utf-8")
    sections = ["Data", "Model", "Training", "Scores on test sets", "How it was made", "Limits", "Licence"]
    for section in [*sections, *(["What “it” stands for"] if name == "en-fr" else [])]:
        assert f"\n## {section}\n" in card, section
    assert "CC BY 2.0 FR" in card
    assert "Fill in" not in card


# The scripts that made the bundled models


@pytest.fixture
def script(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Return a function that loads a script of recipes/, which may import another script."""
    monkeypatch.syspath_prepend(str(repository / "recipes"))

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"recipes_{name}", repository / "recipes" / f"{name}.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    sys.modules.pop("corpora", None)


def test_no_famous_sentence_is_in_the_training_data(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = script("corpora")
    lines = [f"{en}\t{fr}" for en, fr in FAMOUS] + ["I AM a student!\tJe suis une étudiante.", "Hi.\tSalut.\tmore"]
    for part in ("train", "val"):
        (tmp_path / f"{part}.tsv.gz").write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))
    monkeypatch.setattr(data, "TATOEBA", tmp_path)
    monkeypatch.setattr(data, "SYNTHETIC", {"train": 50, "valid": 20})
    monkeypatch.setattr(data, "MINIMAL_PAIRS", {"train": 30, "valid": 10})
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


def test_a_famous_sentence_in_the_written_corpus_is_detected(
    script: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    (tmp_path / "pairs.tsv").write_text("Hi.\tSalut.\nI am learning.\tJe suis étudiant.\n", "utf-8")
    with pytest.raises(AssertionError, match="Je suis étudiant"):
        script("corpora").check(tmp_path / "pairs.tsv")


def test_each_author_is_named_once(script: Callable[[str], ModuleType]) -> None:
    line = "CC-BY 2.0 (France) Attribution: tatoeba.org #{} ({}) & #{} ({})\n"
    authors = script("attribution").authors
    assert authors([line.format(1, "b", 2, "C_d"), line.format(3, "a b", 4, "b")]) == ["a b", "b", "C_d"]
    with pytest.raises(AssertionError, match="not a line of attribution: 'Hello"):
        authors(["Hello\n"])


@pytest.mark.shared_data
def test_the_notice_equals_the_output_of_the_script(
    script: Callable[[str], ModuleType], repository: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_SHARED_DATA", str(shared_data))
    notice = script("attribution")
    with gzip.open(shared_data / "tatoeba" / "en-fr" / "attribution.tsv.gz", "rt", encoding="utf-8") as lines:
        assert (repository / "NOTICE").read_text("utf-8") == notice.notice_text(notice.authors(lines))


def test_a_card_has_the_training_commands_and_the_learning_curve(
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
    (made, said), (pronouns, taught), (curve, rows) = script("bundle").training_history(runs, "en-fr")
    assert (made, pronouns, curve) == ("How it was made", "How it came to follow “it”", "Learning curve")
    assert taught.startswith("No training run gave minimal pairs a weight.")
    assert [title for title, _ in script("bundle").training_history(runs, "fr-en")] == [made, curve]
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
        list(script("bundle").training_history(runs[::-1], "en-fr"))

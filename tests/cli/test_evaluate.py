"""`regard evaluate`: the scores are those of sacreBLEU."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.cli.runner import SOURCES, call, write

import regard
from regard.evaluation.scores import Scorer, Scores
from regard.model_folder.folder import HASHED
from regard.settings.decode import DecodeSettings
from regard.storage.manifest import write_manifest


def score(translations: Sequence[str], references: Sequence[Sequence[str]]) -> Scores:
    judge = Scorer(references)
    return judge.scores(list(judge.statistics(translations)))


def test_a_tsv_and_two_files_give_the_same_scores(model: Path, translations: list[str], tmp_path: Path) -> None:
    references = ["dog cat bo a", "hat gnu", "bo a jam ink", "elf"]
    tsv = write(
        tmp_path / "test.tsv", [f"{source}\t{other}" for source, other in zip(SOURCES, references, strict=True)]
    )
    source, target = write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.fr", references)
    wanted = score(translations, [[each] for each in references])
    for files in ([tsv], [source, target]):
        done = call("evaluate", "--model", model, *files, "--json")
        assert done.code == 0, done.said
        found = json.loads(done.output)
        assert {name: found[name] for name in asdict(wanted)} == asdict(wanted)
        assert list(found) == [*asdict(wanted), "kept", "by_length", "by_rarity", "against"]
        lines = call("evaluate", "--model", model, *files).lines
        assert lines[:5] == [
            "4 sentences",
            f"BLEU {wanted.bleu:6.2f}   {wanted.bleu_signature}",
            f"chrF {wanted.chrf:6.2f}   {wanted.chrf_signature}",
            f"TER  {wanted.ter:6.2f}   {wanted.ter_signature}",
            "",
        ]
        assert lines[5] == "By number of words in the source"
        assert lines[6] == "             sentences    BLEU    chrF     TER"
        assert {len(line) for line in lines[6:8]} == {len(lines[6])}
        assert lines[9] == "By frequency of the rarest source word in the 57 training sources"


def test_evaluate_against_another_model(model: Path, translations: list[str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(model, other, ignore=shutil.ignore_patterns("run"))
    files = [write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.fr", translations)]
    found = json.loads(call("evaluate", "--model", other, "--against", model, *files, "--json").output)
    assert found["against"]["verdict"] == (
        "other and model give the same translation for every sentence: there is no difference."
    )
    assert found["by_rarity"]["by"].endswith(f"in these sources ({other} has no word counts of its training text)")
    lines = call("evaluate", "--model", other, "--against", model, *files).lines
    assert found["against"]["verdict"] in lines
    assert lines[6] == "             sentences    BLEU    diff    chrF    diff     TER    diff"
    assert {len(line) for line in lines[6:8]} == {len(lines[6])}
    assert "4 sentences have the same translation, 0 do not" in lines
    missing = call("evaluate", "--model", model, "--against", tmp_path / "none", *files)
    assert (missing.code, missing.output) == (2, b"")
    assert f"error: {tmp_path / 'none'}: no such model folder; " in missing.said


def test_other_directions_are_refused(model: Path, tmp_path: Path) -> None:
    reverse, tsv = tmp_path / "reverse", write(tmp_path / "test.tsv", ["a bo\tbo a"])
    shutil.copytree(model, reverse, ignore=shutil.ignore_patterns("run"))
    settings = json.loads((reverse / "settings.json").read_text("utf-8"))
    (reverse / "settings.json").write_text(json.dumps({**settings, "directions": [["fr", "en"]]}), "utf-8")
    write_manifest(reverse, HASHED)
    done = call("evaluate", "--model", model, "--against", reverse, tsv)
    message = "the model translates from en to fr, but the model to compare with from fr to en; compare models of the "
    assert done.code == 2
    assert done.said.endswith(f"error: {message}same languages\n")
    with pytest.raises(regard.UserError, match=message):
        regard.evaluate(regard.load(model), tsv, against=regard.load(reverse))
    files = [write(tmp_path / "test.fr", SOURCES), write(tmp_path / "test.en", SOURCES)]
    done = call("evaluate", "--model", model, *files)
    assert (done.code, done.said) == (
        2,
        "error: the model translates from en to fr, but test.fr + test.en from fr to en; give the source first, or use "
        "a model of the other direction\n",
    )


def test_the_models_own_translations_score_100(model: Path, translations: list[str], tmp_path: Path) -> None:
    source, target = write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.fr", translations)
    assert json.loads(call("evaluate", "--model", model, source, target, "--json").output)["chrf"] == 100


def test_several_references(model: Path, translations: list[str], tmp_path: Path) -> None:
    other = ["nothing of the kind"] * 4
    source = write(tmp_path / "test.en", SOURCES)
    files = [write(tmp_path / "one.fr", other), write(tmp_path / "two.fr", translations)]
    columns = zip(SOURCES, other, translations, strict=True)
    tsv = write(tmp_path / "test.tsv", ["\t".join(each) for each in columns])
    wanted = score(translations, list(zip(other, translations, strict=True)))
    for paths in ([source, *files], [tsv]):
        found = json.loads(call("evaluate", "--model", model, *paths, "--json").output)
        assert (found["chrf"], found["bleu"], found["references"]) == (wanted.chrf, wanted.bleu, 2)
        shown = call("evaluate", "--model", model, *paths).lines
        assert shown[0] == "4 sentences, up to 2 references each"


def test_by_source_takes_each_source_once(model: Path, translations: list[str], tmp_path: Path) -> None:
    lines = [f"{SOURCES[0]}\tfirst", f"{SOURCES[1]}\tonly", f"{SOURCES[0]}\tsecond"]
    tsv = write(tmp_path / "test.tsv", lines)
    found = json.loads(call("evaluate", "--model", model, tsv, "--by-source", "--json").output)
    wanted = score(translations[:2], [["first", "second"], ["only"]])
    assert (found["sentences"], found["references"]) == (2, 2)
    assert (found["bleu"], found["chrf"]) == (wanted.bleu, wanted.chrf)
    assert json.loads(call("evaluate", "--model", model, tsv, "--json").output)["sentences"] == 3


def test_the_tokenization_is_in_the_signature(model: Path, tmp_path: Path) -> None:
    tsv = write(tmp_path / "test.tsv", ["a bo\tbo a"])
    found = json.loads(call("evaluate", "--model", model, tsv, "--tokenize", "none", "--json").output)
    assert "|tok:none|" in found["bleu_signature"]
    done = call("evaluate", "--model", model, tsv, "--tokenize", "nun")
    assert done.code == 2
    assert "error: unknown tokenizer 'nun' for BLEU; choose one of 13a" in done.said


def test_evaluate_writes_the_translations(model: Path, translations: list[str], tmp_path: Path) -> None:
    source, out = write(tmp_path / "test.en", SOURCES), tmp_path / "out.txt"
    call("evaluate", "--model", model, source, source, "--out", out)
    assert out.read_bytes() == "".join(text + "\n" for text in translations).encode()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (".", ". is a folder; give the name of a file"),
        ("none/out.txt", "none/out.txt: the folder none does not exist; create it first"),
        ("test.en", "--out test.en is a file of the test set and would be overwritten; give another name"),
    ],
)
def test_bad_output_files_of_evaluate_are_refused(
    out: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = write(tmp_path / "test.en", SOURCES)
    done = call("evaluate", "--model", "none", source, "test.en", "--out", out)
    assert (done.code, done.said) == (2, f"error: {message}\n")
    assert source.read_text("utf-8").splitlines() == SOURCES


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_scores_are_shown_when_the_disk_is_full(model: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "test.en", SOURCES)
    done = call("evaluate", "--model", model, source, source, "--out", "/dev/full")
    assert done.code == 2
    assert done.said.endswith("error: [Errno 28] No space left on device\n")
    assert done.output == call("evaluate", "--model", model, source, source).output


def test_evaluate_refuses_n_best() -> None:
    done = call("evaluate", "--model", "none", "test.tsv", "--set", "decode.n_best=2")
    assert (done.code, done.said) == (2, "error: decode.n_best has no effect on scores; leave it out\n")


def test_evaluate_applies_decode_settings(model: Path, tmp_path: Path) -> None:
    source, out = write(tmp_path / "test.en", SOURCES), tmp_path / "out.txt"
    call(
        "evaluate",
        "--model",
        model,
        source,
        source,
        "--out",
        out,
        "--set",
        "decode.max_length_offset=1",
        "--set",
        "decode.beam_size=1",
    )
    decode = DecodeSettings(beam_size=1, max_length_offset=1)
    wanted = [each.text for each in regard.load(model).translate(SOURCES, decode)]
    assert out.read_text("utf-8").splitlines() == wanted


def test_bad_test_sets_are_named(model: Path, tmp_path: Path) -> None:
    source, short = write(tmp_path / "test.en", SOURCES), write(tmp_path / "test.fr", SOURCES[:3])
    ragged = write(tmp_path / "ragged.tsv", ["a\tb\tc", "a\tb"])
    empty = write(tmp_path / "empty.tsv", [])
    cases = [
        ([source, short], f"the files differ in their number of lines: {source} has 4, {short} has 3; "),
        ([source], f"{source}: expected a source file and one or more reference files (test.en test.fr), or one .tsv"),
        ([ragged], f"{ragged}:2: expected 3 columns separated by tabs, found 2; separate source and target by one tab"),
        ([empty], "empty.tsv: there are no lines in it; nothing to compare with"),
        ([Path("-")], "-: only files can be read here, not standard input; save it to a file first"),
        ([tmp_path / "none.tsv"], f"{tmp_path / 'none.tsv'}: no such file; check the name and the current folder"),
    ]
    for files, message in cases:
        done = call("evaluate", "--model", model, *files)
        assert (done.code, done.output) == (2, b"")
        assert f"error: {message}" in done.said

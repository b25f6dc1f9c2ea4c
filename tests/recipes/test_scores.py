"""The scores of a model: all parts are measured, and the rates of omitted and invented content follow their rule."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import regard
from regard.inference.translator_loader import load_translator
from regard.training.checkpoints import Checkpoints

Script = Callable[[str], ModuleType]

NOUNS = {
    "dog": "chien",
    "house": "maison",
    "bridge": "pont",
    "garden": "jardin",
    "window": "fenêtre",
    "winter": "hiver",
    "doctor": "médecin",
    "letter": "lettre",
}
PAIRS = [
    (f"the {a} and the {b} and the {c}", f"le {NOUNS[a]} et le {NOUNS[b]} et le {NOUNS[c]}")
    for a in NOUNS
    for b in NOUNS
    for c in NOUNS
    if len({a, b, c}) == 3
]


def test_content_that_is_omitted_repeated_or_invented_is_counted(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = script("content_rates")
    monkeypatch.setattr(rates, "FREQUENT", 2)  # "the" and "and"
    lexicon = rates.Lexicon(PAIRS)
    source = "the house and the bridge and the winter and the letter and the garden"
    right = "le maison et le pont et le hiver et le lettre et le jardin"

    def measured(translation: str) -> tuple[float, float, float]:
        found = rates.content_rates(lexicon, [source], [translation], [right])
        return found.omitted, found.repeated, found.invented

    assert measured(right) == (0, 0, 0)
    assert measured("le maison") == (1, 0, 0)
    assert measured(right + " et le jardin et le jardin") == (0, 1, 0)
    other = lexicon.unsupported("le médecin et le fenêtre et le hiver", "the garden", 1)
    assert other == (3, 3)
    assert measured("le médecin et le fenêtre et le chien") == (1, 0, 1)


def test_all_parts_of_a_model_are_scored(
    script: Script, make_model: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = script("scores")
    monkeypatch.setattr(scores, "MINIMAL_PAIRS", {"test": 1})
    monkeypatch.setattr(scores, "PROTECTED", tmp_path / "spans.tsv")
    monkeypatch.setattr(scores.os, "sched_setaffinity", lambda pid, cores: None)
    (tmp_path / "spans.tsv").write_text("en\turl\tSee https://example.com now.\n", "utf-8")
    for name in ("test/everyday", "test/stories", *scores.LEXICON_DOMAINS):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        lines = [f"It's a {noun}, Tom.\tC'est un {noun}, Tom." for noun in ("dog", "cat")]
        path.write_text("".join(line + "\n" for line in lines) * (1 if "/" in name else 3), "utf-8")
    model = make_model(4, languages=("en", "fr"), max_positions=64)
    monkeypatch.setattr(sys, "argv", ["scores.py", str(model), str(tmp_path), str(tmp_path / "scores.json")])
    scores.main()
    found = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert list(found["domains"]) == ["everyday", "stories"]
    assert set(found["perturbations"]) > {"lower case", "all capitals", "several sentences in a line"}
    assert found["perturbations"]["several sentences in a line"]["sentences"] == 2
    assert found["famous"]["sentences"] == 11 and found["minimal pairs"]["test"]["pairs"] == 1
    assert found["kept"]["sentences with protected spans"][1] == 1
    assert found["speed"]["ratio"] > 0


def test_a_snapshot_has_the_parameters_of_the_newest_checkpoint(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS[:80]), "utf-8")
    shape = ["width=16", "heads=2", "feedforward=16", "encoder_layers=1", "decoder_layers=1"]
    overrides = [*(f"model.{each}" for each in shape), "tokenizer.vocab_size=320", "train.validate_every=1"]
    steps = iter(range(100))
    for _ in regard.iter_train(
        [str(data)],
        out=tmp_path / "run",
        size="tiny",
        steps=50,
        languages=("en", "fr"),
        overrides=overrides,
        stop=lambda: next(steps) >= 1,
    ):
        pass
    monkeypatch.setattr(sys, "argv", ["snapshot.py", str(tmp_path / "run"), str(tmp_path / "out")])
    script("snapshot").main()
    checkpoints = Checkpoints(tmp_path / "run" / "run" / "checkpoints")
    newest = checkpoints.weights(checkpoints.steps()[-1])
    assert newest is not None
    from safetensors.torch import load_file

    saved = load_file(tmp_path / "out" / "weights.safetensors")
    assert all((saved[name] == tensor).all() for name, tensor in newest.items())
    assert load_translator(tmp_path / "out").translate("the dog").source == "the dog"

"""`regard demo`."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.runner import TINY, Trained, call

from regard.data.synthetic import FAMOUS
from regard.model_folder.loader import open_folder


@pytest.fixture(scope="module")
def short_demo() -> Iterator[None]:
    """Shorten the demo to a few seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.cli.commands.demo.SETTINGS", TINY)
        for name, count in {"PAIRS_PER_STEP": 30, "VALID": 4, "MINIMAL_PAIRS": 12}.items():
            patch.setattr(f"regard.cli.commands.demo.{name}", count)
        patch.setattr("regard.interpret.measure.pronoun_baselines.TRAINING_PAIRS", 50)
        yield


@pytest.fixture(scope="module")
def demonstrated(short_demo: None, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    out = tmp_path_factory.mktemp("demo") / "model"
    return Trained(out, call("demo", "--out", out, "--steps", 8))


def test_the_demo_trains_and_inspects_a_model(demonstrated: Trained) -> None:
    out, done = demonstrated.path, demonstrated.done
    assert done.code == 0, done.said
    assert "A new model is trained on 240 pairs of the synthetic language; three in four have “it”." in done.said
    assert (
        "step 8: validation loss" in done.said
        and "of 12 minimal pairs (always the same noun: 0%; random: 25%)" in done.said
    )
    assert open_folder(out).languages == ("en", "fr")
    shown = done.output.decode("utf-8")
    for famous in FAMOUS[:2]:
        assert famous[0] in shown
    assert re.search(r"encoder\.1\.self\.[12].*; it\n", shown)
    assert shown.index("The bundled model: accuracy on “it”") < shown.index("The new model: accuracy on “it”")
    assert re.search(r"\nThe new model prefers the correct pronoun in both sentences of \d+% of the minimal", shown)
    assert "What next:\n  regard translate --model" in shown and "regard train train.en train.fr" in shown


def test_the_same_demo_shows_the_same_output(short_demo: None, demonstrated: Trained) -> None:
    again = call("demo", "--out", demonstrated.path, "--steps", 8)
    assert f"{demonstrated.path} is already finished; nothing to do" in again.said
    assert again.output == demonstrated.done.output


def test_the_quick_demo_uses_the_bundled_model(
    short_demo: None, demonstrated: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "en-fr").symlink_to(demonstrated.path)
    monkeypatch.setattr("regard.model_folder.bundled.HERE", tmp_path / "shelf")
    done = call("demo", "--quick", "--out", tmp_path / "none")
    assert done.code == 0, done.said
    assert done.lines[0] == "The bundled model, English to French:" and "  I am a student." in done.lines
    assert '  regard translate "My sister opened the old door."' in done.lines
    assert not (tmp_path / "none").exists()
    monkeypatch.setattr("regard.model_folder.bundled.HERE", tmp_path)
    missing = "error: this copy of Regard has no bundled model; leave --quick out to train one\n"
    assert call("demo", "--quick").said == missing


def test_the_demo_says_that_the_machine_is_busy(
    short_demo: None, demonstrated: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = "so the demo may take much longer than six minutes; `regard demo --quick` takes about one"
    for load, is_busy in ((0.0, False), (1000.0, True)):
        monkeypatch.setattr("psutil.getloadavg", lambda load=load: (load, load, load))
        assert (busy in call("demo", "--out", demonstrated.path, "--steps", 8).said) == is_busy


def test_the_demo_refuses_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("mine")
    assert call("demo", "--out", tmp_path).said == (
        f"error: {tmp_path} already holds other files; choose another --out, or an empty folder\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["card.md"]

"""Recurrent models train, resume, translate, join ensembles and are averaged like the Transformer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models.forward_passes import VOCAB_SIZE, small_recurrent
from tests.padded import batch as padded_batch

import regard
from regard.model_folder.loader import open_folder
from regard.models.build import build_model
from regard.settings.decode import DecodeSettings
from regard.settings.train import TrainSettings
from regard.training.parallel.replicas import make_replicas
from regard.training.planning.step_time import StepTime
from regard.training.run import iter_train
from regard.training.step import Step, accumulate_gradients

PAIRS = [(f"{a} {b}", f"{b.upper()} {a.upper()}") for a in "abcde" for b in "vwxyz"]

CHANGES = {
    "lstm": ["model.width=24"],
    "gru": ["model.width=24", "model.attention=none", "model.reverse_source=true", "train.optimizer=adam"],
    "rnn": ["model.width=24", "model.attention=additive", "model.decoder_layers=1"],
    "transformer": ["model.width=24", "model.heads=2", "model.feedforward=32"],
}


@pytest.fixture(scope="module", autouse=True)
def _no_speed_measurement() -> Iterator[None]:
    """A run measures its speed for seconds, which these tests do not need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.training.planning.step_time.measure_step_time", lambda *_: StepTime(0.01, 50.0))
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS * 4), "utf-8")
    return path


def options(corpus: Path, kind: str) -> dict[str, Any]:
    batches = ["train.batch_tokens=64", "train.micro_batch_tokens=32", "tokenizer.vocab_size=300"]
    # After 20 steps, a model writes placeholders anywhere; they are removed, so the text has another score.
    batches.append("tokenizer.placeholders=0")
    return {
        "paths": [corpus],
        "valid": [corpus],
        "kind": kind,
        "size": "tiny",
        "steps": 20,
        "overrides": [*batches, *CHANGES[kind]],
    }


@pytest.fixture(scope="module")
def folders(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A trained model of each kind."""
    made = {kind: tmp_path_factory.mktemp(kind) / "model" for kind in CHANGES}
    for kind, folder in made.items():
        regard.train(**options(corpus, kind), out=folder)
    return made


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn"])
def test_an_interrupted_run_resumes_to_the_same_parameters(
    corpus: Path, folders: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    arguments = {**options(corpus, kind), "out": tmp_path / "resumed"}
    taken: list[Step] = []
    taken += (event for event in iter_train(**arguments, stop=lambda: len(taken) == 11) if isinstance(event, Step))
    assert not (tmp_path / "resumed" / "manifest.json").exists()
    regard.train(**arguments)
    expected = open_folder(folders[kind]).build().state_dict()
    for name, tensor in open_folder(tmp_path / "resumed").build().state_dict().items():
        assert torch.equal(tensor, expected[name]), name


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("decode", [DecodeSettings(beam_size=3), DecodeSettings(temperature=0.8, seed=2)])
def test_a_sentence_gets_the_same_text_in_a_batch_and_alone(
    folders: dict[str, Path], kind: str, decode: DecodeSettings
) -> None:
    model = regard.load(folders[kind])
    texts = [source for source, _ in PAIRS[:6]] + ["a b c d e v w x y z"]
    together = model.translate(texts, decode)
    assert [one.text for one in together] == [model.translate(text, decode).text for text in texts]


def test_scores_and_alignment_come_from_the_same_model(folders: dict[str, Path]) -> None:
    model = regard.load(folders["lstm"])
    found = model.translate("a v", DecodeSettings(beam_size=2, alignment=True, scores=True))
    (scored,) = model.score([("a v", found.text)])
    assert scored.log_probability == pytest.approx(found.log_probability, abs=1e-4)


def test_a_recurrent_model_and_a_transformer_form_an_ensemble(folders: dict[str, Path]) -> None:
    both = regard.load(folders["lstm"], folders["transformer"])
    alone = [regard.load(folders[kind], backend="torch") for kind in ("lstm", "transformer")]
    scored = [next(model.score([("a v", "V A")])).log_probabilities for model in (both, *alone)]
    found, *others = [torch.tensor(log_probabilities).exp() for log_probabilities in scored]
    # Tokens that cannot be generated get no probability, in the ensemble after its mean.
    torch.testing.assert_close(found, sum(others) / 2, atol=0, rtol=5e-3)


def test_the_average_of_equal_models_is_the_model(folders: dict[str, Path], tmp_path: Path) -> None:
    averaged = regard.average([folders["gru"], folders["gru"]], out=tmp_path / "average")
    assert averaged.translate("b x").text == regard.load(folders["gru"]).translate("b x").text


def test_the_card_counts_parameters_with_and_without_embeddings(folders: dict[str, Path]) -> None:
    opened = open_folder(folders["lstm"])
    model = opened.build()
    total = sum(parameter.numel() for parameter in model.parameters())
    inner = total - opened.settings.target_vocab_size * 24
    card = (folders["lstm"] / "card.md").read_text("utf-8")
    assert f"{total:,} parameters, {inner:,} of them outside the token embeddings." in card
    assert "LSTM, 2 + 2 layers, width 24, encoder forwards and backwards, general attention, input feeding" in card


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn"])
def test_slices_and_replicas_give_the_same_gradient(kind: str) -> None:
    settings, train = small_recurrent(kind=kind), TrainSettings(dropout=0.0)
    generator = torch.Generator().manual_seed(5)
    source_BS, target_BT = torch.randint(4, VOCAB_SIZE, (2, 8, 7), generator=generator).numpy()
    source_BS[::2, 5:] = target_BT[1::3, 4:] = 0
    whole = padded_batch(source_BS, target_BT)
    slices = [padded_batch(source_BS[rows], target_BT[rows]) for rows in (slice(0, 3), slice(3, 8))]
    gradients = []
    for count, batches in ((1, [whole]), (1, slices), (2, slices)):
        replicas = make_replicas(build_model(settings, seed=3), count)
        accumulate_gradients(replicas, batches, train, 1)
        gradients.append([parameter.grad for parameter in replicas[0].parameters()])
    for one, sliced, replicated in zip(*gradients, strict=True):
        torch.testing.assert_close(sliced, one, atol=1e-6, rtol=1e-4)
        torch.testing.assert_close(replicated, one, atol=1e-6, rtol=1e-4)

"""An ensemble averages the probabilities of its models, which must share a tokenizer and languages."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.building import transformer_of
from tests.padded import inputs

import regard
from regard.errors import FolderError, LookError, SettingsError
from regard.inference.backends.ensemble import Ensemble
from regard.inference.translator_loader import load_translator
from regard.model_folder.loader import open_folder
from regard.models.inputs import Inputs
from regard.settings.decode import DecodeSettings
from regard.tokenizers.special_ids import BOS, EOS

torch.set_num_threads(1)

Make = Callable[..., Path]
TEXTS = ["the cat", "a red house sees the cat", "", "½", "cat cat cat"]
DECODES = [
    DecodeSettings(max_length_offset=9, n_best=4),
    DecodeSettings(max_length_offset=9, beam_size=1),
    DecodeSettings(max_length_offset=9, temperature=1.0, prefix="a"),
]


@pytest.mark.parametrize("decode", DECODES, ids=str)
def test_an_ensemble_of_one_model_twice_equals_the_model(make_model: Make, decode: DecodeSettings) -> None:
    folder = make_model()
    alone = load_translator(folder, backend="torch").translate(TEXTS, decode)
    together = load_translator(folder, folder).translate(TEXTS, decode)
    for single, double in zip(alone, together, strict=True):
        assert (single.text, single.tokens) == (double.text, double.tokens)
        assert single.score == pytest.approx(double.score, abs=1e-4)
        assert [each.text for each in single.alternatives] == [each.text for each in double.alternatives]


def test_an_ensemble_averages_probabilities_of_models_of_any_shape(make_model: Make) -> None:
    models = [
        transformer_of(open_folder(folder))
        for folder in (make_model(1), make_model(2, width=24, heads=3), make_model(3, decoder_layers=2))
    ]
    source_BS, target_BT = torch.tensor([[270, 265, 3], [261, 3, 0]]), torch.tensor([[2, 265, 266], [2, 261, 262]])
    ensemble = Ensemble(models)
    with torch.inference_mode():
        hidden_BTD, _ = ensemble.decode(target_BT, ensemble.start(ensemble.encode(inputs(source_BS))))
        each = torch.stack([model(inputs(source_BS), target_BT).softmax(dim=-1) for model in models])
        torch.testing.assert_close(ensemble.project(hidden_BTD).exp(), each.mean(dim=0))


def test_an_ensemble_differs_from_its_models_and_is_the_same_in_any_batch(make_model: Make) -> None:
    folders = [make_model(seed) for seed in (1, 2)]
    decode = DecodeSettings(max_length_offset=9)
    together = load_translator(*folders)
    tokens = [each.tokens for each in together.translate(TEXTS, decode)]
    assert tokens == [together.translate(text, decode).tokens for text in TEXTS]
    assert tokens == [each.tokens for each in load_translator(*folders[::-1]).translate(TEXTS, decode)]
    for folder in folders:
        assert tokens != [each.tokens for each in load_translator(folder, backend="torch").translate(TEXTS, decode)]


def test_an_ensemble_scores_given_translations(make_model: Make) -> None:
    opened = [open_folder(make_model(seed)) for seed in (1, 2)]
    tokenizer = opened[0].tokenizer
    source, target = tokenizer.encode(["the cat", "a house"])
    (scored,) = load_translator(*(folder.path for folder in opened)).score([("the cat", "a house")])
    with torch.inference_mode():
        tensors = Inputs(torch.tensor([[*source, EOS]])), torch.tensor([[BOS, *target]])
        mean_TV = torch.stack([folder.build()(*tensors)[0].softmax(dim=-1) for folder in opened]).mean(dim=0)
    mean_TV = mean_TV * torch.tensor(tokenizer.generable)
    expected_TV = (mean_TV / mean_TV.sum(dim=-1, keepdim=True)).log()
    expected = [expected_TV[at, token].item() for at, token in enumerate([*target, EOS])]
    assert scored.log_probabilities == pytest.approx(expected, abs=1e-4)


def test_models_with_another_tokenizer_or_other_languages_are_refused(make_model: Make) -> None:
    first, other = make_model(), make_model(text="nothing of that kind")
    with pytest.raises(FolderError) as refused:
        load_translator(first, other)
    assert str(refused.value) == (
        f"{first} and {other} have different tokenizers and cannot be combined; use models of one run, or "
        "fine-tuned versions of one model"
    )
    reverse = make_model(languages=("xx", None))
    with pytest.raises(FolderError) as refused:
        load_translator(first, first, reverse)
    assert str(refused.value) == (
        f"{first} translates en to xx, but {reverse} translates xx to unknown; use models of the same languages"
    )


def test_an_ensemble_has_no_other_compute_type_and_cannot_be_inspected(make_model: Make) -> None:
    folder = make_model()
    with pytest.raises(
        SettingsError,
        match="torch computes in float32, not in int8, and only torch supports several models; leave --compute-t",
    ):
        load_translator(folder, folder, compute_type="int8")
    with pytest.raises(LookError, match="an ensemble of 2 models cannot be inspected; load one of the models"):
        regard.load(folder, folder).look("the cat")


def test_the_smallest_max_positions_holds_for_an_ensemble(make_model: Make) -> None:
    assert load_translator(make_model(max_positions=64), make_model(max_positions=32)).max_positions == 32

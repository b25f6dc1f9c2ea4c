"""Models together give what comes next the mean of their probabilities, and must read and write the same pieces."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import regard
from regard.errors import FolderError, LookError, SettingsError
from regard.inference.backends.ensemble import Ensemble
from regard.inference.translator_loader import load_translator
from regard.model_folder.loader import open_folder
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
def test_a_model_twice_is_the_model(make_model: Make, decode: DecodeSettings) -> None:
    folder = make_model()
    alone = load_translator(folder, fast=None).translate_all(TEXTS, decode)
    together = load_translator(folder, folder).translate_all(TEXTS, decode)
    for one, other in zip(alone, together, strict=True):
        assert (one.text, one.tokens) == (other.text, other.tokens)
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert [each.text for each in one.alternatives] == [each.text for each in other.alternatives]


def test_probabilities_are_averaged_whatever_the_shapes(make_model: Make) -> None:
    models = [
        open_folder(folder).build()
        for folder in (make_model(1), make_model(2, width=24, heads=3), make_model(3, decoder_layers=2))
    ]
    source_BS, target_BT = torch.tensor([[270, 265, 3], [261, 3, 0]]), torch.tensor([[2, 265, 266], [2, 261, 262]])
    ensemble = Ensemble(models)
    with torch.inference_mode():
        hidden_BTD, _ = ensemble.decode(target_BT, ensemble.start(ensemble.encode(source_BS)))
        each = torch.stack([model(source_BS, target_BT).softmax(dim=-1) for model in models])
        torch.testing.assert_close(ensemble.project(hidden_BTD).exp(), each.mean(dim=0))


def test_models_together_write_something_of_their_own_and_the_same_in_any_batch(make_model: Make) -> None:
    folders = [make_model(seed) for seed in (1, 2)]
    decode = DecodeSettings(max_length_offset=9)
    together = load_translator(*folders)
    found = [one.tokens for one in together.translate_all(TEXTS, decode)]
    assert found == [together.translate(text, decode).tokens for text in TEXTS]
    assert found == [one.tokens for one in load_translator(*folders[::-1]).translate_all(TEXTS, decode)]
    for folder in folders:
        assert found != [one.tokens for one in load_translator(folder, fast=None).translate_all(TEXTS, decode)]


def test_given_translations_are_scored_together(make_model: Make) -> None:
    opened = [open_folder(make_model(seed)) for seed in (1, 2)]
    tokenizer = opened[0].tokenizer
    source, target = tokenizer.encode(["the cat", "a house"])
    (found,) = load_translator(*(one.path for one in opened)).score([("the cat", "a house")])
    with torch.inference_mode():
        inputs = torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]])
        mean_TV = torch.stack([one.build()(*inputs)[0].softmax(dim=-1) for one in opened]).mean(dim=0)
    mean_TV = mean_TV * torch.tensor(tokenizer.generable)
    wanted_TV = (mean_TV / mean_TV.sum(dim=-1, keepdim=True)).log()
    wanted = [wanted_TV[at, piece].item() for at, piece in enumerate([*target, EOS])]
    assert found.log_probabilities == pytest.approx(wanted, abs=1e-4)


def test_only_models_of_the_same_pieces_and_languages(make_model: Make) -> None:
    first, other = make_model(), make_model(text="nothing of that kind")
    with pytest.raises(FolderError) as refused:
        load_translator(first, other)
    assert str(refused.value) == (
        f"{first} and {other} have different tokenizers, so their pieces cannot be compared; take models of one run, "
        "or fine-tunes of one model"
    )
    back = make_model(languages=("xx", None))
    with pytest.raises(FolderError) as refused:
        load_translator(first, first, back)
    assert str(refused.value) == (
        f"{first} translates en to xx, but {back} xx to unknown; take models of the same languages"
    )


def test_what_models_together_cannot(make_model: Make) -> None:
    folder = make_model()
    with pytest.raises(
        SettingsError, match="several models together are computed in float32, not in int8; leave --fas"
    ):
        load_translator(folder, folder, fast="int8")
    with pytest.raises(LookError, match="2 models together cannot be looked into; load one of them"):
        regard.load(folder, folder).look("the cat")


def test_the_shortest_limit_holds_for_all(make_model: Make) -> None:
    assert load_translator(make_model(max_positions=64), make_model(max_positions=32)).max_positions == 32

"""During the demo each validation is followed by the pronoun accuracy of the model."""

from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.building import transformer_of

from regard.cli.pronoun_notes import pronouns_line, with_pronouns
from regard.data.synthetic.generator import minimal_pairs, pairs
from regard.data.synthetic.tsv_files import format_pair, write_files
from regard.interpret.measure.pronoun_task import PronounTask
from regard.model_folder.loader import open_folder
from regard.training.run import iter_train
from regard.training.tracking.events import Finished, Note
from regard.training.validation import Validation

torch.set_num_threads(1)

SETTINGS = (
    "model.width=16", "model.heads=2", "model.feedforward=24", "model.encoder_layers=1", "model.decoder_layers=1",
    "tokenizer.vocab_size=500", "train.batch_tokens=256", "train.micro_batch_tokens=256", "train.validate_every=4",
    "train.average=1", "decode.beam_size=1", "decode.max_length_offset=1",
)  # fmt: skip


@pytest.fixture
def events(tmp_path: Path):
    for split in ("train", "valid"):
        write_files(
            tmp_path / f"{split}.tsv", map(format_pair, islice(pairs(1, split), 200 if split == "train" else 5))
        )
    return iter_train(
        [tmp_path / "train.tsv"],
        valid=[tmp_path / "valid.tsv"],
        out=tmp_path / "model",
        size="tiny",
        steps=8,
        overrides=SETTINGS,
        languages=("en", "fr"),
    )


def test_each_validation_is_followed_by_pronoun_accuracy(events, tmp_path):
    asked = list(islice(minimal_pairs(1, "valid"), 10))
    random_state = torch.get_rng_state()
    seen = list(with_pronouns(events, tmp_path / "model", asked))
    assert torch.equal(torch.get_rng_state(), random_state)
    followed = [(one.step, note) for one, note in pairwise(seen) if isinstance(one, Validation)]
    assert [step for step, _ in followed] == [4, 8]
    notes = [note.text for _, note in followed if isinstance(note, Note)]
    assert len(notes) == 2 and all("of 10 minimal pairs" in note for note in notes)
    assert isinstance(seen[-1], Finished) and seen[-1].kept == "the last checkpoint"
    opened = open_folder(tmp_path / "model")
    assert notes[-1] == pronouns_line(transformer_of(opened), opened.tokenizer, asked)


def test_a_minimal_pair_counts_if_both_sentences_are_right(model_of, monkeypatch):
    model = model_of("pre")
    monkeypatch.setattr(PronounTask, "preference", lambda self: np.array([1, 2, 3, -1, -1, -1, -1, 1.0]))
    line = pronouns_line(model.network, model.tokenizer, list(islice(minimal_pairs(1, "valid"), 4)))
    assert line.startswith(f"    “it” {'█' * 5}{'·' * 15} the right pronoun in both sentences of 25% of 4")

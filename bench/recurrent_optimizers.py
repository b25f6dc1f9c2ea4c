"""Compare ways of updating the matrices of recurrent layers, by the validation loss of an LSTM with attention.

Muon replaces the gradient of a matrix by an orthogonal matrix. The gates of a recurrent layer share one parameter. It
may be orthogonalised as a whole, or each gate separately, or be left to Adam. Weight decay may include these matrices
or not. All variants train the same model of the size `tiny` on Multi30k with the same batches.

    python bench/recurrent_optimizers.py --out runs [--steps 400]

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA).
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from baselines import corpus
from common.environments import ROOT
from common.results import append, latest, table
from torch import Tensor

from regard.models.interface import SequenceModel
from regard.models.kinds.recurrent import Recurrent
from regard.settings.train import TrainSettings
from regard.training import step as training_step
from regard.training.run import iter_train
from regard.training.step import Step
from regard.training.tracking.events import Finished

RESULTS = ROOT / "bench" / "results" / "recurrent_optimizers.jsonl"

VARIANTS = {
    "Adam": ["train.optimizer=adam"],
    "Muon for linear layers, Adam for recurrent matrices": [],
    "Muon, all gates of a layer as one matrix": [],
    "Muon, each gate a matrix": [],  # what Regard does
    "Muon, each gate a matrix, no weight decay of recurrent matrices": [],
    "Muon, each gate a matrix, no weight decay": ["train.weight_decay=0"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args()
    for number, (name, overrides) in enumerate(VARIANTS.items(), start=1):
        with updates(name):
            for event in iter_train(
                corpus("train", "de-en"),
                valid=corpus("val", "de-en"),
                languages=("de", "en"),
                kind="lstm",
                size="tiny",
                steps=options.steps,
                out=options.out / str(number),
                overrides=overrides,
            ):
                match event:
                    case Step() if event.step % 50 == 0:
                        print(f"{name}: step {event.step:,}, loss {event.loss:.3f}", flush=True)
                    case Finished() if event.scores is not None:
                        scores = event.scores
                        append(RESULTS, variant=name, steps=options.steps, loss=scores.loss, bleu=scores.bleu)
    rows = [
        (one["variant"], f"{one['steps']}", f"{one['loss']:.3f}", f"{one['bleu']:.2f}")
        for one in latest(RESULTS, "variant", "steps")
    ]
    print("\n".join(table(("update", "steps", "validation loss", "validation BLEU"), rows)))


@contextmanager
def updates(variant: str) -> Iterator[None]:
    """Change what the optimizer does with recurrent matrices."""
    matrices, update = Recurrent.matrices, training_step._update_share
    try:
        match variant.removeprefix("Muon, ").removeprefix("Muon "):
            case "for linear layers, Adam for recurrent matrices":
                Recurrent.matrices = SequenceModel.matrices  # type: ignore[method-assign]
            case "all gates of a layer as one matrix":
                Recurrent.matrices = lambda model: dict.fromkeys(matrices(model), 1)  # type: ignore[method-assign]
            case "each gate a matrix, no weight decay of recurrent matrices":
                training_step._update_share = without_recurrent_decay(update)
        yield
    finally:
        Recurrent.matrices, training_step._update_share = matrices, update  # type: ignore[method-assign]


Update = Callable[[torch.optim.Optimizer, TrainSettings, float, Tensor], None]


def without_recurrent_decay(update: Update) -> Update:
    """Return an update that multiplies recurrent matrices by the inverse of their decay first."""

    def changed(share: torch.optim.Optimizer, settings: TrainSettings, rate: float, norm: Tensor) -> None:
        for group in share.param_groups:
            for matrix in group["params"] if group.get("gates", 1) > 1 else ():
                matrix.data.div_(1 - rate * settings.weight_decay)
        update(share, settings, rate, norm)

    return changed


if __name__ == "__main__":
    main()

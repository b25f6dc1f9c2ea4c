"""JoeyNMT's own trainer on tokenised text. It has no fused attention kernel, and drops attention weights out."""

from pathlib import Path

import torch
from importlib_metadata import version
from joeynmt import training
from joeynmt.prediction import predict
from joeynmt.training import TrainManager, train
from training_gate import Gate

gate = Gate()
job, shape = gate.job, gate.job["shape"]
tokens = f"{job['data']}/tokens"
side = {"level": "word", "voc_file": f"{tokens}/vocabulary", "max_length": 1000}
stack = {
    "type": "transformer",
    "num_heads": shape["heads"],
    "embeddings": {"embedding_dim": shape["width"], "scale": True, "dropout": 0.0},
    "hidden_size": shape["width"],
    "ff_size": shape["feedforward"],
    "dropout": job["dropout"],
    "layer_norm": shape["norm"],
}
folder = Path(job["scratch"]) / "joeynmt"
folder.mkdir()
configuration = {
    "name": "bench",
    "joeynmt_version": "2.3.0",
    "model_dir": str(folder),
    "use_cuda": False,
    "random_seed": 1,
    "data": {
        "train": f"{tokens}/train",
        "dev": f"{tokens}/valid",
        "test": f"{tokens}/test",
        "dataset_type": "plain",
        "src": {"lang": "en", **side},
        "trg": {"lang": "de", **side},
        "special_symbols": {
            "unk_token": "<unk>", "unk_id": 0, "pad_token": "<pad>", "pad_id": 1,
            "bos_token": "<s>", "bos_id": 2, "eos_token": "</s>", "eos_id": 3,
        },
    },
    "testing": {"eval_metrics": ["bleu"], "beam_size": 1, "batch_type": "token", "batch_size": 1024},
    "training": {
        "optimizer": "adam",
        "adam_betas": [0.9, 0.98],
        "learning_rate": 1e-4,
        "scheduling": "warmupinversesquareroot",
        "clip_grad_norm": 1.0,
        "loss": "crossentropy",
        "label_smoothing": 0.1,
        "normalization": "tokens",
        "batch_size": job["tokens"],
        "batch_type": "token",
        "early_stopping_metric": "ppl",
        "epochs": 100_000,
        "validation_freq": 100_000,
        "logging_freq": 1_000,
    }
    | job.get("recipe", {}),
    "model": {
        "initializer": "xavier_uniform",
        "bias_initializer": "zeros",
        "embed_initializer": "xavier_uniform",
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": {**stack, "num_layers": shape["encoder_layers"]},
        "decoder": {**stack, "num_layers": shape["decoder_layers"]},
    },
}  # fmt: skip
gate.about = {
    "JoeyNMT": version("joeynmt"),
    "torch": torch.__version__,
    "threads": torch.get_num_threads(),
    "norm": shape["norm"],
}
step, prepare = TrainManager._train_step, training.prepare
datasets = {}


def prepare_and_keep(*arguments, **named):
    """Keep the validation and test data for translation."""
    prepared = prepare(*arguments, **named)
    datasets.update(valid=prepared[2], test=prepared[3])
    return prepared


def gated(trainer: TrainManager, batch):
    result = step(trainer, batch)
    gate.translate = lambda split, beams: predict(
        trainer.model,
        datasets[split],
        trainer.device,
        trainer.n_gpu,
        args=trainer.dev_cfg._replace(beam_size=beams, beam_alpha=1.0),
        autocast=trainer.autocast,
    )[2]
    gate.step_done(int(batch.ntokens))
    return result


training.prepare, TrainManager._train_step = prepare_and_keep, gated
train(rank=0, world_size=1, cfg=configuration, skip_test=True)

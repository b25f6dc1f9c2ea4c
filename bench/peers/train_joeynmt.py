"""JoeyNMT's own trainer, on text already cut into pieces. It has no fused attention, and drops attention out too."""

from pathlib import Path

import torch
from gate import Gate
from importlib_metadata import version
from joeynmt import training
from joeynmt.prediction import predict
from joeynmt.training import TrainManager, train

gate = Gate()
job, shape = gate.job, gate.job["shape"]
pieces = f"{job['data']}/pieces"
side = {"level": "word", "voc_file": f"{pieces}/vocabulary", "max_length": 1000}
part = {
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
        "train": f"{pieces}/train",
        "dev": f"{pieces}/valid",
        "test": f"{pieces}/test",
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
        "encoder": {**part, "num_layers": shape["encoder_layers"]},
        "decoder": {**part, "num_layers": shape["decoder_layers"]},
    },
}  # fmt: skip
gate.about = {
    "JoeyNMT": version("joeynmt"),
    "torch": torch.__version__,
    "threads": torch.get_num_threads(),
    "norm": shape["norm"],
}
step, prepare = TrainManager._train_step, training.prepare
read = {}


def keeping(*arguments, **named):
    """What was read, kept for translating."""
    found = prepare(*arguments, **named)
    read.update(valid=found[2], test=found[3])
    return found


def gated(trainer: TrainManager, batch):
    found = step(trainer, batch)
    gate.translate = lambda part, beams: predict(
        trainer.model,
        read[part],
        trainer.device,
        trainer.n_gpu,
        args=trainer.dev_cfg._replace(beam_size=beams, beam_alpha=1.0),
        autocast=trainer.autocast,
    )[2]
    gate.step_done(int(batch.ntokens))
    return found


training.prepare, TrainManager._train_step = keeping, gated
train(rank=0, world_size=1, cfg=configuration, skip_test=True)

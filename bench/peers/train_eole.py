"""EOLE's own trainer, on text already cut into pieces, which spares it that work."""

import importlib.metadata

import torch
from eole.bin.run.train import train
from eole.config.run import TrainConfig
from eole.trainer import Trainer
from gate import Gate

gate = Gate()
job, shape = gate.job, gate.job["shape"]
pieces = f"{job['data']}/pieces"
settings = {
    "data": {
        "corpus": {"path_src": f"{pieces}/train.en", "path_tgt": f"{pieces}/train.de"},
        "valid": {"path_src": f"{pieces}/valid.en", "path_tgt": f"{pieces}/valid.de"},
    },
    "src_vocab": f"{pieces}/vocabulary",
    "tgt_vocab": f"{pieces}/vocabulary",
    "share_vocab": True,
    "seed": 1,
    "report_every": 1_000,
    "model": {
        "architecture": "transformer",
        "encoder": {"layers": shape["encoder_layers"]},
        "decoder": {"layers": shape["decoder_layers"]},
        "hidden_size": shape["width"],
        "heads": shape["heads"],
        "transformer_ff": shape["feedforward"],
        "add_qkvbias": True,
        "add_final_linear_bias": True,
        "add_ffnbias": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "embeddings": {"word_vec_size": shape["width"], "position_encoding_type": "SinusoidalInterleaved"},
    },
    "training": {
        "model_path": f"{job['scratch']}/eole",
        "compute_dtype": "fp32",
        "dropout": [job["dropout"]],
        "attention_dropout": [0.0],
        "param_init_method": "xavier_uniform",
        "label_smoothing": 0.1,
        "optim": "adam",
        "adam_beta2": 0.98,
        "learning_rate": 1e-4,
        "max_grad_norm": 1,
        "batch_type": "tokens",
        "batch_size": job["tokens"],
        "batch_size_multiple": 1,
        "normalization": "tokens",
        "accum_count": [1],
        "bucket_size": 30_000,
        "num_workers": 0,
        "train_steps": 100_000,
        "valid_steps": 100_000,
        "save_checkpoint_steps": 100_000,
    },
}
gate.about = {
    "EOLE": importlib.metadata.version("eole"),
    "torch": torch.__version__,
    "threads": torch.get_num_threads(),
    "norm": "pre",
    "attention": "scaled_dot_product_attention",
}
step = Trainer._train_step


def gated(trainer: Trainer, batches: list, *rest: object, **named: object) -> None:
    step(trainer, batches, *rest, **named)
    padding = trainer.train_loss.criterion.ignore_index
    gate.step_done(sum(int(batch["tgt"][:, 1:].ne(padding).sum()) for batch in batches))


Trainer._train_step = gated
train(TrainConfig(**settings))

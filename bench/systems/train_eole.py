"""EOLE's own trainer on tokenised text, which saves it the tokenisation."""

import importlib.metadata

import torch
from eole.bin.run.train import train
from eole.config.run import TrainConfig
from eole.trainer import Trainer
from opennmt_options import text, training
from training_gate import Gate

gate = Gate()
job, shape = gate.job, gate.job["shape"]
tokens = f"{job['data']}/tokens"
settings = {
    **text(tokens),
    "seed": 1,
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
        "param_init_method": "xavier_uniform",
        **training(job),
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

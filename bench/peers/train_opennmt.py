"""OpenNMT-py's own trainer, on text already cut into pieces, which spares it that work."""

from pathlib import Path

import onmt
import onmt.opts
import torch
import yaml
from gate import Gate
from onmt.trainer import Trainer
from onmt.utils.parse import ArgumentParser

gate = Gate()
job, shape = gate.job, gate.job["shape"]
pieces = f"{job['data']}/pieces"
settings = {
    "data": {
        "corpus": {"path_src": f"{pieces}/train.en", "path_tgt": f"{pieces}/train.de"},
        "valid": {"path_src": f"{pieces}/valid.en", "path_tgt": f"{pieces}/valid.de"},
    },
    "save_model": f"{job['scratch']}/opennmt/model",
    "src_vocab": f"{pieces}/vocabulary",
    "tgt_vocab": f"{pieces}/vocabulary",
    "share_vocab": True,
    "share_embeddings": True,
    "share_decoder_embeddings": True,
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "enc_layers": shape["encoder_layers"],
    "dec_layers": shape["decoder_layers"],
    "heads": shape["heads"],
    "hidden_size": shape["width"],
    "word_vec_size": shape["width"],
    "transformer_ff": shape["feedforward"],
    "position_encoding": True,
    "add_qkvbias": True,
    "add_ffnbias": True,
    "self_attn_type": "scaled-dot-flash",
    "dropout": [job["dropout"]],
    "attention_dropout": [0.0],
    "param_init": 0,
    "param_init_glorot": True,
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
    "report_every": 1_000,
}
configuration = Path(job["scratch"]) / "opennmt.yaml"
configuration.write_text(yaml.safe_dump(settings), "utf-8")

parser = ArgumentParser()
onmt.opts.train_opts(parser)
options = parser.parse_args(["-config", str(configuration)])
gate.about = {
    "OpenNMT-py": onmt.__version__,
    "torch": torch.__version__,
    "threads": torch.get_num_threads(),
    "norm": "pre",
    "attention": "scaled-dot-flash",
}
step = Trainer._gradient_accumulation


def gated(trainer: Trainer, batches: list, *rest: object) -> None:
    step(trainer, batches, *rest)
    padding = trainer.train_loss.padding_idx
    gate.step_done(sum(int(batch["tgt"][:, 1:, 0].ne(padding).sum()) for batch in batches))


Trainer._gradient_accumulation = gated

from onmt.bin.train import train  # noqa: E402 (it binds the trainer when imported)

train(options)

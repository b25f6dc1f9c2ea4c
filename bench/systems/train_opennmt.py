"""OpenNMT-py's own trainer on tokenised text, which saves it the tokenisation."""

import argparse
from pathlib import Path

import onmt
import onmt.opts
import torch
import yaml
from onmt.inference_engine import InferenceEnginePY
from onmt.trainer import Trainer
from onmt.utils.parse import ArgumentParser
from opennmt_options import text, training
from training_gate import Gate

gate = Gate()
job, shape = gate.job, gate.job["shape"]
tokens = f"{job['data']}/tokens"
settings = {
    **text(tokens),
    "save_model": f"{job['scratch']}/opennmt/model",
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
    "param_init": 0,
    "param_init_glorot": True,
    **training(job),
} | job.get("recipe", {})
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


def translate_split(trainer: Trainer, split: str, beams: int) -> list[str]:
    """Save a checkpoint and translate a split with the inference engine of OpenNMT-py."""
    number = trainer.optim.training_step
    trainer.model_saver.save(number)
    # Since torch 2.6, classes other than tensors in a checkpoint must be allowed explicitly.
    torch.serialization.add_safe_globals([argparse.Namespace])
    parser = ArgumentParser()
    onmt.opts.translate_opts(parser)
    arguments = {
        "model": f"{settings['save_model']}_step_{number}.pt",
        "src": f"{tokens}/{split}.en",
        "output": "/dev/null",
        "beam_size": beams,
        "batch_type": "tokens",
        "batch_size": 4096,
    }
    translate_options = parser.parse_args(
        [word for name, value in arguments.items() for word in (f"-{name}", str(value))]
    )
    ArgumentParser.validate_translate_opts(translate_options)
    ArgumentParser._get_all_transform_translate(translate_options)
    ArgumentParser._validate_transforms_opts(translate_options)
    ArgumentParser.validate_translate_opts_dynamic(translate_options)
    with Path(translate_options.src).open(encoding="utf-8") as file:
        _, hypotheses = InferenceEnginePY(translate_options).infer_list([line.rstrip("\n") for line in file])
    return [best[0] for best in hypotheses]


def gated(trainer: Trainer, batches: list, *rest: object) -> None:
    step(trainer, batches, *rest)
    gate.translate = lambda split, beams: translate_split(trainer, split, beams)
    padding = trainer.train_loss.padding_idx
    gate.step_done(sum(int(batch["tgt"][:, 1:, 0].ne(padding).sum()) for batch in batches))


Trainer._gradient_accumulation = gated

from onmt.bin.train import train  # noqa: E402 (importing it binds the trainer)

train(options)

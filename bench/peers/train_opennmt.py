"""OpenNMT-py's own trainer, on text already cut into pieces, which spares it that work."""

import argparse
from pathlib import Path

import onmt
import onmt.opts
import torch
import yaml
from gate import Gate
from onmt.inference_engine import InferenceEnginePY
from onmt.trainer import Trainer
from onmt.utils.parse import ArgumentParser
from opennmt_options import learning, text

gate = Gate()
job, shape = gate.job, gate.job["shape"]
pieces = f"{job['data']}/pieces"
settings = {
    **text(pieces),
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
    **learning(job),
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


def translated(trainer: Trainer, part: str, beams: int) -> list[str]:
    """By its own engine, from a checkpoint of its own."""
    number = trainer.optim.training_step
    trainer.model_saver.save(number)
    # Since torch 2.6 a checkpoint may not hold other objects; its options are such.
    torch.serialization.add_safe_globals([argparse.Namespace])
    parser = ArgumentParser()
    onmt.opts.translate_opts(parser)
    asked = {
        "model": f"{settings['save_model']}_step_{number}.pt",
        "src": f"{pieces}/{part}.en",
        "output": "/dev/null",
        "beam_size": beams,
        "batch_type": "tokens",
        "batch_size": 4096,
    }
    chosen = parser.parse_args([word for name, value in asked.items() for word in (f"-{name}", str(value))])
    ArgumentParser.validate_translate_opts(chosen)
    ArgumentParser._get_all_transform_translate(chosen)
    ArgumentParser._validate_transforms_opts(chosen)
    ArgumentParser.validate_translate_opts_dynamic(chosen)
    with Path(chosen.src).open(encoding="utf-8") as file:
        _, found = InferenceEnginePY(chosen).infer_list([line.rstrip("\n") for line in file])
    return [best[0] for best in found]


def gated(trainer: Trainer, batches: list, *rest: object) -> None:
    step(trainer, batches, *rest)
    gate.translate = lambda part, beams: translated(trainer, part, beams)
    padding = trainer.train_loss.padding_idx
    gate.step_done(sum(int(batch["tgt"][:, 1:, 0].ne(padding).sum()) for batch in batches))


Trainer._gradient_accumulation = gated

from onmt.bin.train import train  # noqa: E402 (it binds the trainer when imported)

train(options)

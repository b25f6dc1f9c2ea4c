"""OpenNMT-py in float32 with its own inference engine, text transforms, sorting and batching.

    python translate_opennmt.py --convert MODEL-FOLDER OUT

It supports pre-norm models only. Their parameters fit its checkpoint, so its texts equal Regard's, except that its beam
search stops as soon as the most probable beam has ended.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import onmt
import onmt.opts
import sentencepiece
import torch
from model_weights import read, renamed
from onmt.inference_engine import InferenceEnginePY
from onmt.utils.logging import logger
from onmt.utils.parse import ArgumentParser
from translation_worker import EOS, LENGTH_PENALTY, Settings, System, cores, serve

POSITIONS = 5000  # the length of its table
ATTENTION = {"query": "linear_query", "key": "linear_keys", "value": "linear_values", "output": "final_linear"}
SUBLAYERS = {
    **{f"self.{regard_name}": f"self_attn.{their_name}" for regard_name, their_name in ATTENTION.items()},
    **{f"cross.{regard_name}": f"context_attn.{their_name}" for regard_name, their_name in ATTENTION.items()},
    "encoder.self_norm": "layer_norm",
    "decoder.self_norm": "layer_norm_1",
    "cross_norm": "layer_norm_2",
    "feedforward.inner": "feed_forward.w_1",
    "feedforward.outer": "feed_forward.w_2",
    "feedforward_norm": "feed_forward.layer_norm",
}
STACKS = {"encoder": "encoder.transformer", "decoder": "decoder.transformer_layers"}


def convert(folder: Path, out: Path) -> None:
    """Write a model folder as a checkpoint of OpenNMT-py."""
    shape, weights, positions = read(folder)
    assert shape["norm"] == "pre"
    table = torch.zeros(POSITIONS, 1, shape["width"])
    table[: len(positions), 0] = positions
    state = renamed(weights, SUBLAYERS, STACKS)
    for side in ("encoder", "decoder"):
        embedding = f"{side}.embeddings.make_embedding"
        state[f"{embedding}.emb_luts.0.weight"] = weights["embedding.weight"]
        state[f"{embedding}.pe.pe"] = table
        for kind in ("weight", "bias"):
            state[f"{side}.layer_norm.{kind}"] = weights[f"{side}.norm.{kind}"]
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    names = [tokenizer.id_to_piece(number) for number in range(tokenizer.get_piece_size())]
    names[0] = "<blank>"  # its name for padding
    names += [f"<row{row}>" for row in range(len(names), shape["source_vocab_size"])]
    checkpoint = {
        "model": state,
        "generator": {"weight": weights["embedding.weight"], "bias": torch.zeros(shape["source_vocab_size"])},
        "vocab": {"src": names, "tgt": names, "data_task": "seq2seq", "decoder_start_token": "<s>"},
        "opt": _model_options(shape),
    }
    out.mkdir(parents=True, exist_ok=True)
    torch.save(checkpoint, out / "model.pt")
    files_info = {"tokenizer": str((folder / "tokenizer.model").resolve())}
    (out / "peer.json").write_text(json.dumps(files_info), "utf-8")


def _model_options(shape: Settings) -> argparse.Namespace:
    """Return the training options that a checkpoint contains: the defaults, and the shape of the model."""
    parser = ArgumentParser()
    onmt.opts.train_opts(parser)
    options = parser.parse_args(["-data", "unused", "-src_vocab", "unused"])
    options.encoder_type = options.decoder_type = "transformer"
    options.enc_layers, options.dec_layers = shape["encoder_layers"], shape["decoder_layers"]
    options.hidden_size = options.word_vec_size = shape["width"]
    options.heads, options.transformer_ff = shape["heads"], shape["feedforward"]
    options.position_encoding = options.share_embeddings = options.share_decoder_embeddings = True
    options.add_qkvbias = options.add_ffnbias = True
    options.norm_eps = 1e-5
    return options


class OpenNMT(System):
    def __init__(self, files: str) -> None:
        files_info = json.loads((Path(files) / "peer.json").read_text("utf-8"))
        # Since torch 2.6, classes other than tensors in a checkpoint must be allowed explicitly.
        torch.serialization.add_safe_globals([argparse.Namespace])
        self._engine = InferenceEnginePY(_options(str(Path(files) / "model.pt"), files_info))
        logger.setLevel("ERROR")
        self._translator = self._engine.translator
        self._outputs: list[list[torch.Tensor]] = []
        self._translator.translate_batch = self._recording(self._translator.translate_batch)
        self.about = {
            "OpenNMT-py": onmt.__version__,
            "torch": torch.__version__,
            "sentencepiece": sentencepiece.__version__,
            "attention": "scaled-dot-flash",
            "length penalty": f"wu, {LENGTH_PENALTY}",
            "norm": "pre",
        }

    def _recording(self, translate_batch):
        """Record the tokens of every hypothesis, which `infer_list` does not return."""

        def recording(batch, attn_debug):
            result = translate_batch(batch, attn_debug)
            self._outputs += [best[0] for best in result["predictions"]]
            return result

        return recording

    def choices(self, beams: int) -> list[Settings]:
        threads = sorted({cores(), 1}, reverse=True)
        batches = [("sents", 32), ("sents", 128), ("tokens", 1024), ("tokens", 4096)]
        # Greedy search is a beam of one, or sampling from the best token only.
        searches = [0, 1] if beams == 1 else [0]
        return [
            {"threads": count, "batch_type": kind, "batch_size": size, "random_sampling_topk": best}
            for best in searches
            for count in threads
            for kind, size in batches
        ]

    def prepare(self, settings: Settings, beams: int) -> None:
        torch.set_num_threads(settings["threads"])
        self._engine.opt.batch_type = settings["batch_type"]
        self._engine.opt.batch_size = settings["batch_size"]
        self._translator.beam_size = beams
        self._translator.sample_from_topk = settings["random_sampling_topk"]

    def translate(self, lines: Sequence[str]) -> tuple[list[str], int]:
        self._outputs = []
        _, hypotheses = self._engine.infer_list(list(lines))
        tokens = sum(len(output) - int(output[-1] == EOS) for output in self._outputs)
        return [best[0] for best in hypotheses], tokens


def _options(checkpoint: str, files_info: Settings) -> argparse.Namespace:
    """Return the options of `onmt_translate`, parsed as from its command line."""
    parser = ArgumentParser()
    onmt.opts.translate_opts(parser)
    arguments = ["-model", checkpoint, "-src", "unused", "-output", "/dev/null", "-precision", "fp32"]
    arguments += ["-transforms", "sentencepiece", "suffix", "-src_suffix", "</s>"]
    arguments += ["-src_subword_model", files_info["tokenizer"], "-tgt_subword_model", files_info["tokenizer"]]
    arguments += ["-length_penalty", "wu", "-alpha", str(LENGTH_PENALTY), "-self_attn_type", "scaled-dot-flash"]
    options = parser.parse_args(arguments)
    ArgumentParser.validate_translate_opts(options)
    ArgumentParser._get_all_transform_translate(options)
    ArgumentParser._validate_transforms_opts(options)
    ArgumentParser.validate_translate_opts_dynamic(options)
    return options


if __name__ == "__main__":
    if sys.argv[1] == "--convert":
        convert(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        serve(OpenNMT)

"""`generate` of Hugging Face transformers in float32 with Regard's parameters: M2M100 is pre-norm, MarianMT post-norm.

    python translate_transformers.py --convert MODEL-FOLDER OUT

Lines are sorted by length; batch sizes and numbers of threads are tried. `early_stopping` makes its beam search stop,
as Regard's does, when as many hypotheses are finished as there are beams.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import sentencepiece
import torch
import transformers
from model_weights import read, renamed
from transformers import M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel
from translation_worker import BOS, EOS, LENGTH_PENALTY, MAX_LENGTH_OFFSET, PAD, Settings, System, cores, serve

ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
SUBLAYERS = {
    **{f"self.{regard_name}": f"self_attn.{their_name}" for regard_name, their_name in ATTENTION.items()},
    **{f"cross.{regard_name}": f"encoder_attn.{their_name}" for regard_name, their_name in ATTENTION.items()},
    "self_norm": "self_attn_layer_norm",
    "cross_norm": "encoder_attn_layer_norm",
    "feedforward.inner": "fc1",
    "feedforward.outer": "fc2",
    "feedforward_norm": "final_layer_norm",
}
STACKS = {"encoder": "model.encoder.layers", "decoder": "model.decoder.layers"}


def convert(folder: Path, out: Path) -> None:
    """Write a model folder in the format that `from_pretrained` reads."""
    shape, weights, positions = read(folder)
    pre = shape["norm"] == "pre"
    config = (M2M100Config if pre else MarianConfig)(
        vocab_size=shape["source_vocab_size"],
        d_model=shape["width"],
        encoder_layers=shape["encoder_layers"],
        decoder_layers=shape["decoder_layers"],
        encoder_attention_heads=shape["heads"],
        decoder_attention_heads=shape["heads"],
        encoder_ffn_dim=shape["feedforward"],
        decoder_ffn_dim=shape["feedforward"],
        activation_function="relu",
        max_position_embeddings=shape["max_positions"],
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        **({} if pre else {"forced_eos_token_id": None}),
    )
    model = (M2M100ForConditionalGeneration if pre else MarianMTModel)(config)
    state = renamed(weights, SUBLAYERS, STACKS)
    state["model.shared.weight"] = weights["embedding.weight"]
    for side in ("encoder", "decoder") if pre else ():
        for kind in ("weight", "bias"):
            state[f"model.{side}.layer_norm.{kind}"] = weights[f"{side}.norm.{kind}"]
    missing, unexpected = model.load_state_dict(state, strict=False)
    tied_or_fixed = ("embed_tokens", "embed_positions", "lm_head", "final_logits_bias")
    missing = [name for name in missing if not any(fixed in name for fixed in tied_or_fixed)]
    if missing or unexpected:
        raise SystemExit(f"unexpected parameters: {unexpected}; missing parameters: {missing}")
    model.save_pretrained(out)
    torch.save(positions, out / "positions.pt")
    (out / "peer.json").write_text(json.dumps({"tokenizer": str((folder / "tokenizer.model").resolve())}), "utf-8")


class Transformers(System):
    def __init__(self, files: str) -> None:
        files_info = json.loads((Path(files) / "peer.json").read_text("utf-8"))
        self._tokenizer = sentencepiece.SentencePieceProcessor(model_file=files_info["tokenizer"])
        kind = json.loads((Path(files) / "config.json").read_text("utf-8"))["model_type"]
        loader = MarianMTModel if kind == "marian" else M2M100ForConditionalGeneration
        self._model = loader.from_pretrained(files, dtype=torch.float32, attn_implementation="sdpa").eval()
        self._set_positions(torch.load(Path(files) / "positions.pt"))
        self.about = {
            "transformers": transformers.__version__,
            "torch": torch.__version__,
            "sentencepiece": sentencepiece.__version__,
            "class": loader.__name__,
            "attention": self._model.config._attn_implementation,
            "length penalty": f"n^{LENGTH_PENALTY}",
            "early_stopping": True,
        }

    def _set_positions(self, positions: torch.Tensor) -> None:
        """Replace its sinusoids, which have another order and are never saved. M2M100 starts after the row of PAD."""
        for stack in (self._model.model.encoder, self._model.model.decoder):
            table = stack.embed_positions
            if isinstance(table, torch.nn.Embedding):
                table.weight.data.copy_(positions)
            else:
                table.weights[PAD + 1 : PAD + 1 + len(positions)] = positions

    def choices(self, beams: int) -> list[Settings]:
        threads = sorted({cores(), 1}, reverse=True)
        return [{"threads": count, "sentences": size} for count in threads for size in (16, 64, 256)]

    def prepare(self, settings: Settings, beams: int) -> None:
        torch.set_num_threads(settings["threads"])
        self._size, self._beams = settings["sentences"], beams

    @torch.inference_mode()
    def translate(self, lines: Sequence[str]) -> tuple[list[str], int]:
        sources = [[*ids, EOS] for ids in self._tokenizer.encode(list(lines))]
        order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
        written: list[list[int]] = [[] for _ in sources]
        for at in range(0, len(order), self._size):
            batch = order[at : at + self._size]
            for index, ids in zip(batch, self._generate([sources[index] for index in batch]), strict=True):
                written[index] = ids
        return self._tokenizer.decode(written), sum(map(len, written))

    def _generate(self, sources: list[list[int]]) -> list[list[int]]:
        width = len(sources[0])
        ids = torch.tensor([source + [PAD] * (width - len(source)) for source in sources])
        beam_search = {"length_penalty": LENGTH_PENALTY, "early_stopping": True} if self._beams > 1 else {}
        found = self._model.generate(
            input_ids=ids,
            attention_mask=(ids != PAD).long(),
            num_beams=self._beams,
            do_sample=False,
            max_new_tokens=width + MAX_LENGTH_OFFSET,
            **beam_search,
        )
        return [_until_end(row[1:]) for row in found.tolist()]


def _until_end(ids: list[int]) -> list[int]:
    return ids[: ids.index(EOS)] if EOS in ids else [number for number in ids if number != PAD]


if __name__ == "__main__":
    if sys.argv[1] == "--convert":
        convert(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        serve(Transformers)

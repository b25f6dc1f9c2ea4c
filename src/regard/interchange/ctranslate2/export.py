"""Export of a model to CTranslate2. Runs in a separate process, because CTranslate2's converter imports torch.

    python -m regard.interchange.ctranslate2.export MODEL-FOLDER OUT-FOLDER COMPUTE-TYPE

The files are written atomically. One of them, `made_for.json`, records the model, the version of CTranslate2 and the
compute type for which they are valid.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from ctranslate2.specs.common_spec import Activation
from ctranslate2.specs.transformer_spec import TransformerSpec
from torch import nn

from regard.errors import UserError
from regard.interchange.ctranslate2.cache import FOLDER, export_key, is_intact_export, token_names
from regard.interchange.ctranslate2.support import supports_model
from regard.model_folder.folder import AlignmentHead
from regard.model_folder.loader import open_folder
from regard.models.attention import MultiHeadAttention
from regard.models.kinds.transformer import Stack, Transformer
from regard.models.layers import DecoderLayer, FeedForward
from regard.settings.anatomy import locate_head
from regard.storage.atomic_files import new_folder
from regard.storage.json_files import write_json
from regard.storage.manifest import write_manifest
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

_NEVER = -1e9  # the logit of a forbidden token; CTranslate2 needs a finite number


def export_model(model_folder: Path, out: Path, compute_type: str) -> None:
    """Write the CTranslate2 files of a model folder to `out`."""
    opened = open_folder(model_folder)
    model = opened.build()
    assert isinstance(model, Transformer)
    spec = _spec(model, opened.tokenizer, opened.alignment)
    # For float32, the converter of CTranslate2 expects None, which means no quantization.
    spec.optimize(quantization=None if compute_type == "float32" else compute_type)
    with new_folder(out) as new:
        spec.save(str(new))
        write_json(new / "made_for.json", export_key(model_folder, compute_type, opened.alignment))
        write_manifest(new, sorted(path.name for path in new.iterdir()))


def ensure_export(model_folder: Path) -> None:
    """Write the CTranslate2 files of a model to its folder, unless they are there or CTranslate2 has no such models."""
    opened = open_folder(model_folder)
    key = export_key(model_folder, "float32", opened.alignment)
    if supports_model(opened.settings) and not is_intact_export(model_folder / FOLDER, key):
        export_model(model_folder, model_folder / FOLDER, "float32")


def _spec(model: Transformer, tokenizer: SentencePieceTokenizer, alignment: AlignmentHead | None) -> Any:
    settings = model.settings
    layer = _move_head_first(model, alignment.head) if alignment else -1
    spec = TransformerSpec.from_config(
        (settings.encoder_layers, settings.decoder_layers),
        settings.heads,
        pre_norm=settings.norm == "pre",
        activation=Activation.RELU,
        alignment_layer=layer,
        alignment_heads=1,
    )
    _stack(spec.encoder, spec.encoder.embeddings[0], model.encoder, model)
    _stack(spec.decoder, spec.decoder.embeddings, model.decoder, model)
    spec.decoder.projection.weight = _array(model.embedding.weight)
    # This bias gives forbidden tokens the probability zero, both in search and in scoring.
    spec.decoder.projection.bias = _array(torch.where(torch.tensor(tokenizer.generable), 0.0, _NEVER))
    names = token_names(tokenizer)
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.add_source_eos = True
    spec.validate()
    return spec


def _move_head_first(model: Transformer, address: str) -> int:
    """Move a cross-attention head to the first place in its layer; return the index of the layer.

    CTranslate2 returns the attention weights of the first head only. The order of the heads does not change the output
    of the layer.
    """
    name, chosen = locate_head(address)
    attention = model.settings.anatomy().attention(name)
    assert attention is not None  # the loader has checked it
    cross = model.decoder.layers()[attention.layer - 1][1].cross
    order = sorted(range(cross.heads), key=lambda head: head != chosen)
    rows = torch.arange(cross.query.out_features).view(cross.heads, -1)[order].flatten()
    with torch.no_grad():
        for linear in (cross.query, cross.key, cross.value):
            linear.weight.copy_(linear.weight[rows])
            linear.bias.copy_(linear.bias[rows])
        cross.output.weight.copy_(cross.output.weight[:, rows])
    return attention.layer - 1


def _stack(spec: Any, embeddings: Any, stack: Stack[Any], model: Transformer) -> None:
    embeddings.weight = _array(model.embedding.weight)
    spec.scale_embeddings = True
    spec.position_encodings.encodings = _array(model.positions.weight)
    if "norm" in stack:
        _norm(spec.layer_norm, stack["norm"])
    for (_, layer), layer_spec in zip(stack.layers(), spec.layer, strict=True):
        _self_attention(layer_spec.self_attention, layer.self, layer.self_norm)
        if isinstance(layer, DecoderLayer):
            _cross_attention(layer_spec.attention, layer.cross, layer.cross_norm)
        _feedforward(layer_spec.ffn, layer.feedforward, layer.feedforward_norm)


def _self_attention(spec: Any, attention: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    _linear(spec.linear[0], attention.query, attention.key, attention.value)
    _linear(spec.linear[1], attention.output)
    _norm(spec.layer_norm, norm)


def _cross_attention(spec: Any, attention: MultiHeadAttention, norm: nn.LayerNorm) -> None:
    _linear(spec.linear[0], attention.query)
    _linear(spec.linear[1], attention.key, attention.value)
    _linear(spec.linear[2], attention.output)
    _norm(spec.layer_norm, norm)


def _feedforward(spec: Any, feedforward: FeedForward, norm: nn.LayerNorm) -> None:
    _linear(spec.linear_0, feedforward.inner)
    _linear(spec.linear_1, feedforward.outer)
    _norm(spec.layer_norm, norm)


def _linear(spec: Any, *layers: nn.Linear) -> None:
    """Export one or more linear layers. If there are several, they share their input and become a single layer."""
    spec.weight = _array(torch.cat([layer.weight for layer in layers]))
    spec.bias = _array(torch.cat([layer.bias for layer in layers]))


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().numpy()


if __name__ == "__main__":
    try:
        export_model(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
    except UserError as error:
        sys.exit(str(error))

"""A plain loop around Hugging Face's MarianMT."""

import transformers
from plain_loop import BOS, EOS, PAD, train
from torch import Tensor
from training_gate import Gate
from transformers import MarianConfig, MarianMTModel

gate = Gate()
shape = gate.job["shape"]
config = MarianConfig(
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
    dropout=gate.job["dropout"],
    attention_dropout=0.0,
    pad_token_id=PAD,
    bos_token_id=BOS,
    eos_token_id=EOS,
    decoder_start_token_id=BOS,
    use_cache=False,
    attn_implementation="sdpa",
)
model = MarianMTModel(config)


def compute_logits(source: Tensor, target: Tensor) -> Tensor:
    return model(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=target).logits


train(model, compute_logits, gate, transformers=transformers.__version__, norm="post", attention="sdpa")

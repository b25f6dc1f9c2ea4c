"""A plain loop around Hugging Face's MarianMT."""

import transformers
from gate import Gate
from plain import END, PAD, START, train
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

gate = Gate()
shape = gate.job["shape"]
config = MarianConfig(
    vocab_size=shape["vocab_size"],
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
    bos_token_id=START,
    eos_token_id=END,
    decoder_start_token_id=START,
    use_cache=False,
    attn_implementation="sdpa",
)
model = MarianMTModel(config)


def scores(source: Tensor, target: Tensor) -> Tensor:
    return model(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=target).logits


train(model, scores, gate, transformers=transformers.__version__, norm="post", attention="sdpa")

"""Regard's training, as `regard train` runs it."""

import torch
from training_gate import Gate

import regard
from regard.machine.malloc import retain_freed_memory
from regard.training.step import Step

retain_freed_memory()
gate = Gate()
data, tokens = gate.job["data"], gate.job["tokens"]
overrides = [
    *(f"train.{name}={tokens}" for name in ("batch_tokens", "micro_batch_tokens")),
    f"train.dropout={gate.job['dropout']}",
    "train.validate_every=100000",
    "tokenizer.vocab_size=8000",
    "train.optimizer=adam",  # as the other systems; `tiny` and `small` use Muon and weight decay by default
    "train.weight_decay=0",
]
gate.about = {"regard": regard.__version__, "torch": torch.__version__, "threads": torch.get_num_threads()}
for event in regard.iter_train(
    [f"{data}/train.en", f"{data}/train.de"],
    out=f"{gate.job['scratch']}/regard",
    valid=[f"{data}/valid.en", f"{data}/valid.de"],
    size=gate.job["size"],
    steps=100_000,
    overrides=overrides,
):
    if isinstance(event, Step):
        gate.step_done(event.target_tokens)

"""A recorded pass equals what the model computed, for all attentions, depths and decoding methods."""

import json
import os
import subprocess
import sys
from concurrent.futures import Future
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import regard
from regard.api import Model
from regard.errors import LookError
from regard.inference.backends.interface import Sources, SourceTokens
from regard.inference.backends.torch import TorchBackend
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.translator import Translator
from regard.interpret.report.sentence_text import heading
from regard.interpret.trace import HEAD_QUANTITIES, Recorder, Trace
from regard.models.inputs import Inputs
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings
from regard.tokenizers.special_ids import BOS, EOS, PAD

TEXT = "the old cat sees a red tree and it was tired."
GREEDY, BEAM = DecodeSettings(beam_size=1, max_length_offset=9), DecodeSettings(beam_size=4, max_length_offset=9)
each_target = pytest.mark.parametrize(
    "options", [{"decode": GREEDY}, {"decode": BEAM}, {"target": "a dog paints."}], ids=["greedy", "beam", "given"]
)


def fused_weights(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the weights of the fused kernel by using columns of the identity matrix as values, a block at a time."""
    keys, width = k.size(-2), q.size(-1)
    identity = torch.eye(keys)
    blocks = []
    for start in range(0, keys, width):
        block = identity[:, start : start + width]
        values = F.pad(block, (0, width - block.size(1))).expand(*k.shape[:-2], keys, width)
        mixed = F.scaled_dot_product_attention(q, k, values, attn_mask=mask)
        blocks.append(mixed[..., : block.size(1)])
    return torch.cat(blocks, dim=-1)


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.array(array))


@each_target
def test_recorded_weights_equal_those_of_the_fused_kernel(model, options):
    trace = model.look(TEXT, **options).trace
    for attention in trace.attentions:
        q, k, mask = (tensor(trace[f"{attention.address}.{name}"])[None] for name in ("query", "key", "mask"))
        recorded = tensor(trace[f"{attention.address}.weight"])[None]
        torch.testing.assert_close(recorded, fused_weights(q, k, mask), atol=1e-6, rtol=0)


@each_target
def test_all_other_numbers_equal_those_of_the_model_without_a_lens(model, options):
    trace = model.look(TEXT, **options).trace
    source_1S, read_1T = torch.tensor([trace.source.ids]), torch.tensor([trace.read.ids])
    outputs: dict[str, torch.Tensor] = {}
    hooks = [
        layer.register_forward_hook(lambda _, __, out, name=f"{stack}.{number}": outputs.update({name: out}))
        for stack in ("encoder", "decoder")
        for number, layer in getattr(model.network, stack).layers()
    ]
    with torch.inference_mode():
        outputs["encoder.output"] = model.network.encode(Inputs(source_1S)).hidden_BSD
        logits = model.network(Inputs(source_1S), read_1T)
    for hook in hooks:
        hook.remove()
    for name, output in outputs.items():
        expected = output[0] if isinstance(output, tuple) else output
        torch.testing.assert_close(tensor(trace[name]), expected[0], atol=1e-5, rtol=1e-5)
    written = logits[0, :, EOS : model.tokenizer.size]
    torch.testing.assert_close(tensor(trace["logits"])[:, EOS : model.tokenizer.size], written, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(tensor(trace["probability"]).sum(dim=-1), torch.ones(len(logits[0])))


def test_a_sentence_recorded_in_a_padded_batch_equals_it_recorded_alone(model):
    trace = model.look(TEXT, GREEDY).trace
    long, short = [*trace.source.ids[:-1], *trace.source.ids], list(trace.source.ids)
    lens = Recorder()
    with torch.inference_mode():
        model.network(Inputs.from_ids([long, short], pad=PAD), torch.tensor([trace.read.ids] * 2), lens)
    for attention in trace.attentions:
        weights = lens.tensors[f"{attention.address}.weight"][1]
        alone = tensor(trace[f"{attention.address}.weight"])
        torch.testing.assert_close(weights[..., : alone.size(-2), : alone.size(-1)], alone, atol=1e-6, rtol=0)
        if attention.kind != "decoder.self":
            assert not weights[..., alone.size(-1) :].any()


def test_every_name_gives_a_read_only_array(model):
    trace = model.look(TEXT, GREEDY).trace
    assert {
        f"{attention.address}.{name}"
        for attention in trace.attentions
        for name in (*HEAD_QUANTITIES, "joined", "output")
    } <= {*trace.names}
    for name in trace.names:
        with pytest.raises(ValueError, match="read-only"):
            trace[name][...] = 0
    with pytest.raises(TypeError):
        trace.recorded["logits"] = np.zeros(1)
    with pytest.raises(ValueError, match="read-only"):
        trace["encoder.1.self.1.weight"][0] = 0


def test_every_layer_and_head_is_recorded_at_different_depths(model):
    settings, trace = model.network.settings, model.look(TEXT, GREEDY).trace
    expected = [f"encoder.{n}.self" for n in range(1, settings.encoder_layers + 1)]
    expected += [f"decoder.{n}.{sub}" for n in range(1, settings.decoder_layers + 1) for sub in ("self", "cross")]
    assert [attention.address for attention in trace.attentions] == expected
    sides = {"encoder.self": (trace.source, trace.source), "decoder.self": (trace.written, trace.read)}
    sides["decoder.cross"] = (trace.written, trace.source)
    for attention in trace.attentions:
        assert (attention.rows, attention.columns) == sides[attention.kind]
        weights = trace[f"{attention.address}.weight"]
        assert weights.shape == (settings.heads, len(attention.rows.ids), len(attention.columns.ids))
        assert (trace[f"{attention.address}.{settings.heads}.weight"] == weights[-1]).all()


def test_decoding_steps_chain_the_tokens_read_and_written(model_of):
    view = model_of("pre").look(TEXT, BEAM)
    assert view.trace.read.ids == (BOS, *view.trace.written.ids[:-1])
    steps = view.steps()
    assert steps[0].read == "<s>" and steps[-1].token == "</s>"
    for step, following in pairwise(steps):
        assert following.read == step.token
    # The teacher-forced pass gives the same probability as the search.
    log_probability = sum(np.log(step.probability) for step in steps)
    assert log_probability == pytest.approx(view.search.hypotheses[0].log_probability, abs=1e-5)
    for step in steps:
        probabilities = [probability for _, probability in step.alternatives]
        assert probabilities == sorted(probabilities, reverse=True)


@pytest.mark.parametrize("decode", [GREEDY, BEAM], ids=["greedy", "beam"])
def test_look_explains_the_text_that_translate_returns(model, decode):
    for text in (TEXT, "dog", "½ naïve 中"):
        view, translation = model.look(text, decode), model.translate(text, decode)
        assert view.text == translation.text
        assert view.score == pytest.approx(translation.score)
        assert view.torch_text is None


def test_look_explains_ctranslate2_by_default(folder_of):
    model = regard.load(folder_of("pre"))
    view = model.look(TEXT, BEAM)
    assert view.text == model.translate(TEXT, BEAM).text
    assert view.torch_text is None


def test_a_translation_that_reaches_its_length_limit_has_no_eos(model_of):
    model = model_of("pre")
    written = [
        model.look(text, DecodeSettings(beam_size=1, max_length_offset=1)).trace.written
        for text in (TEXT, "a", "tired and old")
    ]
    limited = [tokens for tokens in written if tokens.ids[-1] != EOS]
    assert limited  # else this tests nothing
    for tokens in written:
        assert EOS not in tokens.ids[:-1]


def test_both_translations_are_shown_where_the_backends_differ(model_of):
    plain = model_of("pre")

    class OtherBackend(TorchBackend):
        def generate(
            self, batch: Sources, decode: DecodeSettings, *, sentences: int | None = None
        ) -> Future[list[list[Hypothesis]]]:
            future: Future[list[list[Hypothesis]]] = Future()
            ids = plain.tokenizer.encode(["a dog"])[0]
            future.set_result([[Hypothesis(tuple(ids), -1.0, -0.5, ())] for _ in batch])
            return future

    backend = OtherBackend(plain.network, plain.tokenizer.generable)
    other = Translator(backend, plain.tokenizer, max_positions=plain.max_positions)
    view = Model(other, plain.tokenizer, lambda: plain.network, name="other").look(TEXT, BEAM)
    assert view.text == "a dog"
    assert view.torch_text == plain.translate(TEXT, BEAM).text
    assert str(view.torch_text) in "\n".join(heading(view, TerminalStyle()))
    assert view.trace.written.texts == ("▁a", "▁dog", "</s>")


def test_a_given_target_is_teacher_forced(model_of):
    view = model_of("post").look(TEXT, target="the red house.")
    assert view.text == "the red house."
    assert (view.score, view.search, view.torch_text) == (None, None, None)
    assert view.trace.written.ids[-1] == EOS


def test_the_recorded_beams_equal_those_of_the_search(model):
    view = model.look(TEXT, BEAM)
    search = view.search
    ids = list(view.trace.source.ids[:-1])
    backend = TorchBackend(model.network, model.tokenizer.generable)
    expected = backend.generate([SourceTokens(tuple(ids), len(ids) + 9)], BEAM).result()
    assert list(search.hypotheses) == expected[0]
    paths = {search.path(step, i): beam for step, beams in enumerate(search.steps) for i, beam in enumerate(beams)}
    assert len(paths) == sum(map(len, search.steps))
    for hypothesis in search.hypotheses:
        tokens = hypothesis.token_ids[: len(search.steps)]
        if tokens:
            gains = hypothesis.token_log_probabilities[: len(tokens)]
            assert paths[tokens].total == pytest.approx(sum(gains), abs=1e-5)
            assert paths[tokens].log_probability == pytest.approx(gains[-1], abs=1e-5)


@pytest.mark.parametrize(
    "decode",
    [
        replace(BEAM, prefix="the dog"),
        replace(BEAM, temperature=1.0, n_best=3),
        replace(BEAM, no_repeat_ngram_size=2, min_length=4),
    ],
    ids=str,
)
def test_look_explains_translate_under_any_decode_settings(model_of, decode):
    model = model_of("pre")
    view = model.look(TEXT, decode)
    assert (view.text, view.torch_text) == (model.translate(TEXT, decode).text, None)
    assert "Infinity" not in json.dumps(view.to_dict())
    for step, beams in enumerate(view.search.steps):
        for index, beam in enumerate(beams):
            before = view.search.steps[step - 1][beam.parent].total if step else 0.0
            assert beam.total == pytest.approx(before + beam.log_probability, abs=1e-4)
            assert view.search.path(step, index)[-1] == beam.token


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  ", "the text is blank"),
        ("a dog\na cat", "in 2 separate parts"),
        ("cat " * 200, r"in \d+ separate parts.*128 tokens"),
    ],
)
def test_a_blank_or_long_text_is_refused(model_of, text, message):
    with pytest.raises(LookError, match=message):
        model_of("pre").look(text)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("encoder.3.self.1.weight", r"no attention 'encoder.3.self'; this model has 2 encoder and 2 decoder layers"),
        ("encoder.1.cross.1.weight", r"no attention 'encoder.1.cross'"),
        ("encoder.1.self.3.weight", r"no head 3; the heads of encoder.1.self are 1 to 2"),
        ("nonsense", r"nothing has the address 'nonsense'; examples are encoder.embedding"),
    ],
)
def test_an_unknown_address_is_refused(model_of, address, message):
    trace: Trace = model_of("pre").look(TEXT, GREEDY).trace
    with pytest.raises(LookError, match=message):
        trace[address]


def test_look_does_not_change_the_model(model_of):
    model = model_of("pre")
    before = {name: tensor.clone() for name, tensor in model.network.state_dict().items()}
    for without in (None, "positions", "scaling"):
        model.look(TEXT, GREEDY, without=without)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.network.state_dict().items())
    assert model.network.positions.weight.any()


def test_torch_is_imported_only_by_look(folder_of):
    folder = folder_of("pre")
    regard.load(folder).translate("cat")  # creates the files of CTranslate2
    script = f"""
import sys, regard
from regard.interchange.ctranslate2 import cache as fast
from pathlib import Path
fast.user_cache_path = lambda name: Path({str(folder.parent)!r}) / "cache" / name
model = regard.load({str(folder)!r})
model.translate("cat")
before = "torch" in sys.modules
model.look("cat")
print(before, "torch" in sys.modules)
"""
    source = Path(regard.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
        check=True,
    )
    assert done.stdout.split() == ["False", "True"]

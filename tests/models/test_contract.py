"""What every kind of model must do: the same step by step and at once, in a batch and alone, with a lens and without.

A new kind adds the settings of a small model to `SETTINGS`. The tests use only the interface and anatomy of a model.
Shapes: B sentences, K beams, N = B * K rows, S source length, T target length, D width, V vocabulary.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.forward_passes import (
    VOCAB_SIZE,
    B,
    RecordingLens,
    S,
    T,
    assert_same,
    decode_all,
    full_source,
    padded_source,
    random_model,
    select_rows,
    small_recurrent,
    small_transformer,
    tokens,
)
from tests.padded import batch
from tests.toy_kind import ToySettings, toy_kind
from torch import Tensor

from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.models.build import build_model, build_untrained, build_with_parameters, parameter_shapes
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel, DecoderState
from regard.settings.anatomy import Side
from regard.settings.model import ModelSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import PAD
from regard.tokenizers.vocabulary import train_tokenizer
from regard.training.loss import backward_in_chunks

# All kinds with all attentions, and each attention with and without input feeding.
RECURRENT = {
    **{
        f"{kind}, {attention}": small_recurrent(kind=kind, attention=attention, input_feeding=kind == "lstm")
        for kind in ("rnn", "gru", "lstm")
        for attention in ("none", "dot", "general", "additive")
    },
    "gru, fed": small_recurrent(kind="gru"),
    "lstm, one direction": small_recurrent(bidirectional=False, encoder_layers=1),
    "lstm, reversed source": small_recurrent(reverse_source=True, attention="none", decoder_layers=1),
    "gru, 3 + 1 layers": small_recurrent(kind="gru", encoder_layers=3, decoder_layers=1),
    "gru, 1 + 3 layers": small_recurrent(kind="gru", encoder_layers=1, decoder_layers=3),
}

SETTINGS: dict[str, ModelSettings] = {
    "transformer, post-norm": small_transformer(norm="post"),
    "transformer, pre-norm": small_transformer(norm="pre"),
    "transformer, learned positions": small_transformer(positions="learned"),
    "transformer, 3 + 1 layers": small_transformer(norm="pre", positions="learned", encoder_layers=3, decoder_layers=1),
    "transformer, 1 + 3 layers": small_transformer(encoder_layers=1, decoder_layers=3, heads=4),
    **RECURRENT,
    "toy": ToySettings(width=16, max_positions=16).with_vocab_size(VOCAB_SIZE),
}

every_kind = pytest.mark.parametrize("name", SETTINGS)
both_sources = pytest.mark.parametrize("source", [padded_source, full_source], ids=["padded", "full"])

Source = Callable[[], Inputs]


@pytest.fixture(scope="module", autouse=True)
def _toy_kind() -> Iterator[None]:
    with toy_kind():
        yield


def model_of(name: str, dropout: float = 0.0) -> AutoregressiveModel:
    return random_model(SETTINGS[name], dropout)


# Step by step.


@every_kind
def test_logits_have_one_number_for_each_token_of_the_vocabulary(name: str) -> None:
    model, target_BT = model_of(name), tokens(B, T)
    hidden_BTD, _ = model.decode(target_BT, model.start(model.encode(padded_source())))
    assert hidden_BTD.shape == (B, T, model.settings.width)
    logits_BTV = model.project(hidden_BTD)
    assert logits_BTV.shape == (B, T, VOCAB_SIZE)
    assert torch.equal(logits_BTV, model(padded_source(), target_BT))
    assert_same(model.project(hidden_BTD[:, -1]), logits_BTV[:, -1])


@every_kind
def test_decoding_one_token_at_a_time_equals_decoding_all_at_once(name: str) -> None:
    model, source, target_BT = model_of(name), padded_source(), tokens(B, T)
    logits_BTV, _ = decode_all(model, model.start(model.encode(source)), *target_BT.split(1, dim=1))
    assert_same(logits_BTV, model(source, target_BT))


@every_kind
@settings(max_examples=20)
@given(cuts=st.sets(st.integers(1, T - 1)))
def test_decoding_in_any_chunks_equals_decoding_all_at_once(name: str, cuts: set[int]) -> None:
    model, source, target_BT = model_of(name), padded_source(), tokens(B, T)
    chunks = [target_BT[:, begin:end] for begin, end in itertools.pairwise([0, *sorted(cuts), T])]
    logits_BTV, _ = decode_all(model, model.start(model.encode(source)), *chunks)
    assert_same(logits_BTV, model(source, target_BT))


@every_kind
def test_a_state_can_be_continued_twice(name: str) -> None:
    """The state belongs to the caller: decoding changes neither the state nor the model."""
    model, target_BT = model_of(name), tokens(B, T)
    _, state = decode_all(model, model.start(model.encode(padded_source())), target_BT[:, :3])
    once, _ = decode_all(model, state, target_BT[:, 3:])
    decode_all(model, state, tokens(B, 5, seed=9))
    state.select(torch.zeros(B, 2, dtype=torch.long))
    state.keep(torch.tensor([1]))
    again, _ = decode_all(model, state, target_BT[:, 3:])
    assert torch.equal(once, again)


@every_kind
def test_the_model_stores_no_result_of_a_forward_pass(name: str) -> None:
    model = model_of(name)
    before = {name: (tensor.data_ptr(), tensor._version) for name, tensor in model.state_dict().items()}
    names = {module: set(vars(module)) for module in model.modules()}
    model(padded_source(), tokens(B, T), RecordingLens())
    assert {name: (tensor.data_ptr(), tensor._version) for name, tensor in model.state_dict().items()} == before
    assert {module: set(vars(module)) for module in model.modules()} == names


@every_kind
def test_later_tokens_do_not_change_earlier_logits(name: str) -> None:
    model, source, target_BT = model_of(name), padded_source(), tokens(B, T)
    logits_BTV = model(source, target_BT)
    for position in range(1, T):
        changed_BT = target_BT.clone()
        changed_BT[:, position:] = tokens(B, T - position, seed=position + 40)
        assert torch.equal(model(source, changed_BT)[:, :position], logits_BTV[:, :position])


@every_kind
def test_every_token_changes_the_logits_after_it(name: str) -> None:
    model, source, target_BT = model_of(name), padded_source(), tokens(B, T)
    logits_BTV = model(source, target_BT)
    for position in range(T):
        changed_BT = target_BT.clone()
        changed_BT[:, position] = target_BT[:, position] % (VOCAB_SIZE - 1) + 1
        assert bool((model(source, changed_BT) != logits_BTV).any(dim=-1)[:, position].all())


# In batches.


@every_kind
def test_a_sentence_gets_the_same_logits_alone_and_in_a_padded_batch(name: str) -> None:
    model, source, target_BT = model_of(name), padded_source(), tokens(B, T)
    logits_BTV = model(source, target_BT)
    for sentence, length in enumerate(source.lengths.tolist()):
        row = slice(sentence, sentence + 1)
        assert_same(logits_BTV[row], model(Inputs(source.values[row, :length]), target_BT[row]))


@every_kind
def test_the_mask_decides_what_is_padding_and_not_the_token(name: str) -> None:
    model, source, target_BT = model_of(name), padded_source(), tokens(B, T)
    logits_BTV = model(source, target_BT)
    assert source.mask_BS is not None
    other_BS = torch.where(source.mask_BS, source.values, tokens(B, S, seed=5))
    assert torch.equal(model(replace(source, values=other_BS), target_BT), logits_BTV)
    unmasked_BTV = model(Inputs(source.values), target_BT)  # PAD counts as a token of the second and third sentence
    assert torch.allclose(unmasked_BTV[0], logits_BTV[0], atol=1e-5)
    assert bool((unmasked_BTV[1:] - logits_BTV[1:]).abs().amax(dim=(1, 2)).min() > 1e-3)


@every_kind
def test_no_mask_equals_a_mask_of_real_positions_only(name: str) -> None:
    model, source, target_BT = model_of(name), full_source(), tokens(B, T)
    assert source.mask_BS is None
    masked = replace(source, mask_BS=torch.ones(B, S, dtype=torch.bool))
    assert_same(model(masked, target_BT), model(source, target_BT))


# Beams.


@every_kind
@both_sources
def test_selected_beams_continue_as_if_decoded_from_the_start(name: str, source: Source) -> None:
    """One beam becomes three, three become two, then one sentence finishes and the others swap places."""
    model, sentences = model_of(name), source()
    state = model.start(model.encode(sentences))
    decoded: list[list[list[int]]] = [[[]] for _ in range(B)]  # the tokens by sentence and beam

    def advance(state: DecoderState, seed: int) -> Any:
        tokens_N1 = tokens(sum(map(len, decoded)), 1, seed)
        hidden_N1D, state = model.decode(tokens_N1, state)
        rows = [beam for beams in decoded for beam in beams]
        for beam, token in zip(rows, tokens_N1.flatten().tolist(), strict=True):
            beam.append(token)
        sources = [sentence for sentence, beams in enumerate(decoded) for _ in beams]
        expected_NTV = model(select_rows(sentences, sources), torch.tensor(rows))
        assert_same(model.project(hidden_N1D), expected_NTV[:, -1:])
        return state

    def select(state: DecoderState, beams: list[list[int]]) -> DecoderState:
        decoded[:] = [[list(old[beam]) for beam in new] for old, new in zip(decoded, beams, strict=True)]
        return state.select(torch.tensor(beams))

    state = advance(state, 1)
    state = select(state, [[0, 0, 0]] * 3)
    state = advance(state, 2)
    state = select(state, [[2, 0, 0], [0, 1, 2], [1, 1, 0]])
    state = advance(state, 3)
    state = select(state, [[2, 1], [0, 0], [1, 2]])
    state = advance(state, 4)
    kept = [2, 0]
    state, sentences = state.keep(torch.tensor(kept)), select_rows(sentences, kept)
    decoded = [decoded[index] for index in kept]
    state = advance(state, 5)
    state = select(state, [[1, 0], [0, 0]])
    advance(state, 6)


@every_kind
def test_several_beams_can_start_before_the_first_token(name: str) -> None:
    model, source = model_of(name), padded_source()
    state = model.start(model.encode(source)).select(torch.zeros(B, 2, dtype=torch.long))
    first_N1 = tokens(2 * B, 1)
    logits_N1V, _ = decode_all(model, state, first_N1)
    assert_same(logits_N1V, model(select_rows(source, [0, 0, 1, 1, 2, 2]), first_N1))


@every_kind
@both_sources
def test_sentences_can_be_kept_before_the_first_token(name: str, source: Source) -> None:
    model, target_BT, kept = model_of(name), tokens(B, T), torch.tensor([2, 1])
    logits_BTV, _ = decode_all(model, model.start(model.encode(source())).keep(kept), target_BT[kept])
    assert_same(logits_BTV, model(source(), target_BT)[kept])


# With a lens.


@every_kind
@both_sources
def test_a_forward_pass_is_the_same_with_a_lens(name: str, source: Source) -> None:
    model, target_BT = model_of(name), tokens(B, T)
    assert_same(model(source(), target_BT, RecordingLens()), model(source(), target_BT), within=2e-6)


@every_kind
def test_a_decoding_step_is_the_same_with_a_lens(name: str) -> None:
    model = model_of(name)
    _, state = decode_all(model, model.start(model.encode(padded_source())), tokens(B, 3))
    for new in (1, 2):
        hidden, _ = model.decode(tokens(B, new, seed=8), state)
        with_lens, _ = model.decode(tokens(B, new, seed=8), state, RecordingLens())
        torch.testing.assert_close(with_lens, hidden, atol=2e-6, rtol=0)


class WithoutAttention(RecordingLens):
    """A lens that replaces the weights of one attention with zeros."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address

    def weights(self, name: str, weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        return torch.zeros_like(weights_BHLM) if name == self.address else weights_BHLM


@every_kind
def test_the_weights_that_the_lens_returns_are_used(name: str) -> None:
    model, source, target_BT = model_of(name), padded_source(), tokens(B, T)
    logits_BTV = model(source, target_BT)
    for attention in model.anatomy().attentions:
        changed_BTV = model(source, target_BT, WithoutAttention(attention.address))
        assert not torch.allclose(changed_BTV, logits_BTV, atol=1e-3), attention.address


@every_kind
def test_two_threads_can_record_and_translate_at_the_same_time(name: str) -> None:
    model, source, target_BT = model_of(name), padded_source(), tokens(B, T)
    together = threading.Barrier(2)

    def record() -> list[tuple[str, Tensor]]:
        lens = RecordingLens()
        with torch.inference_mode():
            model(source, target_BT, lens)
        return lens.weights_seen

    def translate() -> Tensor:
        with torch.inference_mode():
            return decode_all(model, model.start(model.encode(source)), *target_BT.split(1, dim=1))[0]

    def repeat(work: Any) -> list[Any]:
        together.wait()
        return [work() for _ in range(20)]

    weights_alone, logits_alone = record(), translate()
    with ThreadPoolExecutor(2) as pool:
        recording, translating = pool.submit(repeat, record), pool.submit(repeat, translate)
    for weights in recording.result():
        assert [name for name, _ in weights] == [name for name, _ in weights_alone]
        assert all(torch.equal(first, second) for (_, first), (_, second) in zip(weights, weights_alone, strict=True))
    assert all(torch.equal(logits, logits_alone) for logits in translating.result())


# The anatomy.


def recorded(name: str, source: Source = padded_source) -> tuple[AutoregressiveModel, RecordingLens]:
    model, lens = model_of(name), RecordingLens()
    model(source(), tokens(B, T), lens)
    return model, lens


def length_of(side: Side) -> int:
    return S if side == "source" else T


@every_kind
def test_the_anatomy_of_a_model_is_that_of_its_settings_and_has_no_address_twice(name: str) -> None:
    anatomy = model_of(name).anatomy()
    assert anatomy == SETTINGS[name].anatomy()
    layers = {stack.name: stack.layers for stack in anatomy.stacks}
    assert len(layers) == len(anatomy.stacks)
    addresses = [attention.address for attention in anatomy.attentions]
    addresses += [vector.address for stack in anatomy.stacks for vector in stack.vectors]
    assert len(addresses) == len(set(addresses))
    for attention in anatomy.attentions:
        assert anatomy.attention(attention.address) is attention
        assert 1 <= attention.layer <= layers[attention.address.partition(".")[0]]
        assert attention.head_addresses[-1] == f"{attention.address}.{attention.heads}"
    assert len(anatomy.heads) == sum(attention.heads for attention in anatomy.attentions)


@every_kind
def test_every_address_is_seen_once(name: str) -> None:
    _, lens = recorded(name)
    names = [name for name, _ in lens.seen]
    assert len(names) == len(set(names))


@every_kind
@both_sources
def test_the_lens_sees_the_weights_of_all_attentions_in_order(name: str, source: Source) -> None:
    """A row of weights sums to one. It is zero at padding, and in causal attention at later positions."""
    model, lens = recorded(name, source)
    attentions = model.anatomy().attentions
    assert [name for name, _ in lens.weights_seen] == [attention.address for attention in attentions]
    seen, mask_BS = dict(lens.seen), source().mask_BS
    for attention, (_, weights_BHLM) in zip(attentions, lens.weights_seen, strict=True):
        rows, columns = length_of(attention.queries), length_of(attention.keys)
        assert weights_BHLM.shape == (B, attention.heads, rows, columns)
        for quantity, positions in (("query", rows), ("key", columns), ("value", columns), ("mixed", rows)):
            shape = seen[f"{attention.address}.{quantity}"].shape
            assert shape == (B, attention.heads, positions, attention.head_width), quantity
        torch.testing.assert_close(weights_BHLM.sum(dim=-1), torch.ones(B, attention.heads, rows))
        if attention.keys == "source" and mask_BS is not None:
            assert not weights_BHLM.masked_select(~mask_BS[:, None, None]).any()
        allowed_LM = torch.ones(rows, columns).tril() if attention.causal else torch.ones(rows, columns)
        assert not weights_BHLM[:, :, allowed_LM == 0].any()
        assert weights_BHLM[0, :, allowed_LM == 1].all()  # the first sentence has no padding


@every_kind
def test_the_lens_sees_the_vectors_and_outputs_of_all_stacks(name: str) -> None:
    """A vector that does not depend on the sentence may have no batch dimension."""
    model, lens = recorded(name)
    seen = dict(lens.seen)
    for stack in model.anatomy().stacks:
        shape = (length_of(stack.side), model.settings.width)
        for vector in stack.vectors:
            assert seen[vector.address].shape in ((B, *shape), shape), vector.address
        for address in stack.outputs:
            assert seen[address].shape == (B, *shape), address
        assert tuple(name for name in seen if name in stack.outputs) == stack.outputs  # in the order of computation


@every_kind
def test_the_attention_weights_of_a_step_are_the_last_row_of_the_full_pass(name: str) -> None:
    model, target_BT = model_of(name), tokens(B, T)
    full, step = RecordingLens(), RecordingLens()
    encoded = model.encode(padded_source())
    model.decode(target_BT, model.start(encoded), full)
    _, state = model.decode(target_BT[:, :-1], model.start(encoded))
    model.decode(target_BT[:, -1:], state, step)
    for (address, all_BHLM), (same_address, last_BH1M) in zip(full.weights_seen, step.weights_seen, strict=True):
        assert address == same_address
        torch.testing.assert_close(last_BH1M, all_BHLM[:, :, -1:], atol=1e-6, rtol=0)


@every_kind
@both_sources
def test_encoding_reads_no_value_of_a_tensor(name: str, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a value on the CPU would wait for all work of a GPU."""
    model, inputs, read = model_of(name), source(), []
    for method in ("__bool__", "__int__", "__float__", "__index__", "item", "tolist", "numpy", "cpu", "nonzero"):
        monkeypatch.setattr(Tensor, method, lambda *_, method=method: read.append(method))
    model.encode(inputs)
    monkeypatch.undo()
    assert read == []


# Parameters.


@every_kind
def test_the_parameters_depend_on_the_settings_and_the_seed_only(name: str) -> None:
    torch.manual_seed(3)
    random_state = torch.random.get_rng_state()
    first = build_model(SETTINGS[name], seed=4).state_dict()
    assert torch.equal(torch.random.get_rng_state(), random_state)
    torch.manual_seed(5)
    again, other = build_model(SETTINGS[name], 0.3, seed=4).state_dict(), build_model(SETTINGS[name], seed=6)
    assert all(torch.equal(tensor, again[key]) for key, tensor in first.items())
    assert not all(torch.equal(tensor, first[key]) for key, tensor in other.state_dict().items())
    untrained = [build_untrained(model_of(name)).state_dict() for _ in range(2)]
    assert all(torch.equal(tensor, untrained[1][key]) for key, tensor in untrained[0].items())


@every_kind
def test_everything_that_is_saved_is_a_parameter_with_a_known_name_and_shape(name: str) -> None:
    model = model_of(name, dropout=0.3)
    model(padded_source(), tokens(B, T), RecordingLens())
    shapes = {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()}
    assert shapes == parameter_shapes(SETTINGS[name])
    buffers = set(shapes) - {key for key, _ in model.named_parameters()}
    assert not buffers, f"saved, but not parameters: {buffers}; compute them from the settings when they are needed"


@every_kind
def test_every_parameter_has_a_gradient(name: str) -> None:
    model, source = model_of(name).train(), padded_source()
    target_BT = tokens(B, T)
    target_BT[1, 5:] = PAD
    backward_in_chunks(model, batch(source.values, target_BT), label_smoothing=0.1, tokens=T)
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.isfinite().all()), key
        # The gradient of the bias of keys is zero: it adds the same to all scores of a query.
        assert parameter.grad.any() or key.endswith(".key.bias"), key


@every_kind
def test_a_saved_model_is_loaded_with_the_same_settings_parameters_and_logits(name: str, tmp_path: Path) -> None:
    tokenizer = SentencePieceTokenizer(train_tokenizer(iter(["a small text"] * 9), kind="unigram", vocab_size=300))
    model = random_model(SETTINGS[name].with_vocab_size(tokenizer.embedding_rows))
    parameters = model.state_dict()
    save_folder(
        tmp_path, settings=model.settings, weights=parameters, tokenizer=tokenizer, languages=(None, None), card=""
    )
    opened = open_folder(tmp_path)
    assert opened.settings == model.settings
    loaded, other = opened.build(), build_model(model.settings).eval()
    other.load_state_dict(parameters)
    for same in (loaded, other, build_with_parameters(model.settings, parameters)):
        assert type(same) is type(model)
        assert all(torch.equal(tensor, parameters[key]) for key, tensor in same.state_dict().items())
        assert torch.equal(same(padded_source(), tokens(B, T)), model(padded_source(), tokens(B, T)))


# Dropout.


@every_kind
def test_dropout_changes_only_the_output_of_a_model_in_training_mode(name: str) -> None:
    model, source, target_BT = model_of(name, dropout=0.3), padded_source(), tokens(B, T)
    plain = model(source, target_BT)
    assert torch.equal(plain, model_of(name)(source, target_BT))
    model.train()
    dropped = model(source, target_BT)
    assert not torch.allclose(dropped, plain, atol=0.01)
    assert not torch.allclose(dropped, model(source, target_BT), atol=0.01)
    assert torch.equal(model.eval()(source, target_BT), plain)


@pytest.mark.parametrize("name", RECURRENT)
def test_the_lens_sees_every_vector_of_every_recurrent_layer(name: str) -> None:
    model, lens = model_of(name), RecordingLens()
    model(padded_source(), tokens(B, T), lens)
    seen = dict(lens.seen)
    recurrences = model.anatomy().recurrences
    assert {(one.side, one.layer) for one in recurrences} == {
        (stack.side, layer) for stack in model.anatomy().stacks for layer in stack.outputs[1:]
    }
    for recurrence in recurrences:
        names = [step.name for step in recurrence.steps]
        assert {*recurrence.gates, *recurrence.states} <= set(names)
        for step in names:
            length = S if recurrence.side == "source" else T
            assert seen[f"{recurrence.address}.{step}"].shape == (B, length, recurrence.width)

"""The Transformer: piece by piece as all at once, in company as alone, watched as unwatched, and as torch has it.

Shapes: B sentences, K beams, N = B * K rows, S source length, T target length, D width.
"""

import itertools
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.models.dropout import Dropout
from regard.models.kinds.transformer import PAD, Transformer, TransformerState
from regard.models.positions import Positions
from regard.settings.kinds.transformer import TransformerSettings

VOCABULARY, S, T = 23, 6, 7
SHAPES: list[dict[str, Any]] = [
    {"norm": "post"},
    {"norm": "pre"},
    {"positions": "learned"},
    {"norm": "pre", "positions": "learned", "encoder_layers": 3, "decoder_layers": 1},
    {"encoder_layers": 1, "decoder_layers": 3, "heads": 4},
]
every_shape = pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda shape: " ".join(f"{name} {value}" for name, value in shape.items())
)
both_norms = pytest.mark.parametrize("norm", ["post", "pre"])


def tiny(*, dropout: float = 0.0, **shape: Any) -> Transformer:
    """A small model in which every parameter is some number of its own: no bias is zero, no norm is plain."""
    values = {"width": 16, "heads": 2, "feedforward": 32, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 16}
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(7)
        model = Transformer(TransformerSettings(vocab_size=VOCABULARY, **{**values, **shape}), dropout)
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def pieces(sentences: int, length: int, seed: int = 3) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(PAD + 1, VOCABULARY, (sentences, length), generator=random)


def padded_source() -> Tensor:
    """Three sentences of 6, 4 and 1 pieces."""
    source_BS = pieces(3, S)
    source_BS[1, 4:] = PAD
    source_BS[2, 1:] = PAD
    return source_BS


def assert_same(found: Tensor, expected: Tensor, within: float = 1e-5) -> None:
    torch.testing.assert_close(found, expected, atol=within, rtol=0)
    assert torch.equal(found.argmax(dim=-1), expected.argmax(dim=-1))


def write(model: Transformer, state: TransformerState, *parts: Tensor) -> tuple[Tensor, TransformerState]:
    """The scores after every piece, for pieces that come in parts."""
    scores = []
    for part_NT in parts:
        hidden_NTD, state = model.decode(part_NT, state)
        scores.append(model.project(hidden_NTD))
    return torch.cat(scores, dim=1), state


class Look:
    """Keeps everything it is shown, in order."""

    def __init__(self) -> None:
        self.weights_seen: list[tuple[str, Tensor]] = []
        self.seen: list[tuple[str, Tensor]] = []

    def see(self, name: str, tensor: Tensor) -> None:
        self.seen.append((name, tensor))

    def weights(self, name: str, weights_BHLM: Tensor) -> Tensor:
        self.weights_seen.append((name, weights_BHLM))
        return weights_BHLM


# Piece by piece.


@every_shape
def test_one_piece_at_a_time_gives_what_all_at_once_gives(shape):
    model, source_BS, target_BT = tiny(**shape), padded_source(), pieces(3, T)
    scores_BTV, state = write(model, model.start(model.encode(source_BS)), *target_BT.split(1, dim=1))
    assert_same(scores_BTV, model(source_BS, target_BT))
    assert state.length == T


@every_shape
@settings(max_examples=20)
@given(cuts=st.sets(st.integers(1, T - 1)))
def test_any_split_into_chunks_gives_what_all_at_once_gives(shape, cuts):
    model, source_BS, target_BT = tiny(**shape), padded_source(), pieces(3, T)
    chunks = [target_BT[:, begin:end] for begin, end in itertools.pairwise([0, *sorted(cuts), T])]
    scores_BTV, _ = write(model, model.start(model.encode(source_BS)), *chunks)
    assert_same(scores_BTV, model(source_BS, target_BT))


def test_a_state_can_be_gone_on_from_twice():
    """It belongs to the caller: to write changes neither it nor the model."""
    model, target_BT = tiny(), pieces(3, T)
    _, state = write(model, model.start(model.encode(padded_source())), target_BT[:, :3])
    once, _ = write(model, state, target_BT[:, 3:])
    write(model, state, pieces(3, 5, seed=9))
    again, _ = write(model, state, target_BT[:, 3:])
    assert torch.equal(once, again)
    assert state.length == 3


def test_the_model_keeps_nothing_of_what_it_computed():
    model = tiny()
    before = {name: (tensor.data_ptr(), tensor._version) for name, tensor in model.state_dict().items()}
    names = {module: set(vars(module)) for module in model.modules()}
    model(padded_source(), pieces(3, T), Look())
    assert {name: (tensor.data_ptr(), tensor._version) for name, tensor in model.state_dict().items()} == before
    assert {module: set(vars(module)) for module in model.modules()} == names


@every_shape
def test_pieces_to_come_do_not_change_what_was_thought_before_them(shape):
    model, source_BS, target_BT = tiny(**shape), padded_source(), pieces(3, T)
    scores_BTV = model(source_BS, target_BT)
    for position in range(1, T):
        changed_BT = target_BT.clone()
        changed_BT[:, position:] = pieces(3, T - position, seed=position + 40)
        assert torch.equal(model(source_BS, changed_BT)[:, :position], scores_BTV[:, :position])


def test_every_piece_changes_what_is_thought_from_it_on():
    model, source_BS, target_BT = tiny(), padded_source(), pieces(3, T)
    scores_BTV = model(source_BS, target_BT)
    for position in range(T):
        changed_BT = target_BT.clone()
        changed_BT[:, position] = target_BT[:, position] % (VOCABULARY - 1) + 1
        assert bool((model(source_BS, changed_BT) != scores_BTV).any(dim=-1)[:, position:].all())


# In company.


@every_shape
def test_a_sentence_in_a_padded_batch_is_as_it_is_alone(shape):
    model, source_BS, target_BT = tiny(**shape), padded_source(), pieces(3, T)
    scores_BTV = model(source_BS, target_BT)
    for sentence, row_S in enumerate(source_BS):
        alone_1S, row = row_S[row_S != PAD][None], slice(sentence, sentence + 1)
        assert_same(scores_BTV[row], model(alone_1S, target_BT[row]))


def test_a_batch_without_padding_has_no_mask():
    model = tiny()
    assert model.encode(pieces(3, S)).mask is None
    mask = model.encode(padded_source()).mask
    assert mask is not None
    assert mask.shape == (3, 1, 1, S)
    assert mask.sum(dim=-1).flatten().tolist() == [6, 4, 1]


# Beams.


@every_shape
@pytest.mark.parametrize("source", [padded_source, lambda: pieces(3, S)], ids=["padded", "full"])
def test_selected_beams_go_on_as_if_each_had_been_written_from_scratch(shape, source):
    """One beam becomes three, three become two, then a sentence finishes and the others change places."""
    model, source_BS = tiny(**shape), source()
    memory = model.encode(source_BS)
    state = model.start(memory)
    written: list[list[list[int]]] = [[[]] for _ in source_BS]  # by sentence and beam

    def go_on(state: TransformerState, seed: int) -> TransformerState:
        tokens_N1 = pieces(sum(map(len, written)), 1, seed)
        hidden_N1D, state = model.decode(tokens_N1, state)
        rows = [beam for beams in written for beam in beams]
        for beam, token in zip(rows, tokens_N1.flatten().tolist(), strict=True):
            beam.append(token)
        sources = [sentence for sentence, beams in enumerate(written) for _ in beams]
        expected_NTV = model(source_BS[sources], torch.tensor(rows))
        assert_same(model.project(hidden_N1D), expected_NTV[:, -1:])
        return state

    def select(state: TransformerState, beams: list[list[int]]) -> TransformerState:
        written[:] = [[list(old[beam]) for beam in new] for old, new in zip(written, beams, strict=True)]
        return state.select(torch.tensor(beams))

    state = go_on(state, 1)
    state = select(state, [[0, 0, 0]] * 3)
    state = go_on(state, 2)
    state = select(state, [[2, 0, 0], [0, 1, 2], [1, 1, 0]])
    state = go_on(state, 3)
    state = select(state, [[2, 1], [0, 0], [1, 2]])
    state = go_on(state, 4)
    kept = [2, 0]
    state, source_BS, written = state.keep(torch.tensor(kept)), source_BS[kept], [written[index] for index in kept]
    state = go_on(state, 5)
    state = select(state, [[1, 0], [0, 0]])
    go_on(state, 6)


def test_beams_may_be_many_from_the_first_piece_on():
    model, source_BS = tiny(), padded_source()
    state = model.start(model.encode(source_BS)).select(torch.zeros(3, 2, dtype=torch.long))
    first_N1 = pieces(6, 1)
    scores_N1V, state = write(model, state, first_N1)
    assert_same(scores_N1V, model(source_BS.repeat_interleave(2, dim=0), first_N1))


def test_sentences_can_be_kept_before_anything_is_written():
    model, source_BS, target_BT = tiny(), padded_source(), pieces(3, T)
    kept = torch.tensor([2, 1])
    scores_BTV, _ = write(model, model.start(model.encode(source_BS)).keep(kept), target_BT[kept])
    assert_same(scores_BTV, model(source_BS, target_BT)[kept])


def test_to_select_beams_does_not_copy_what_the_encoder_made():
    model = tiny()
    start = model.start(model.encode(padded_source()))
    _, state = write(model, start, pieces(3, 1))
    selected = state.select(torch.zeros(3, 4, dtype=torch.long))
    _, state = write(model, selected, pieces(12, 1))
    for before, after in zip(start.layers, state.layers, strict=True):
        assert after.cross_keys_BHSE.data_ptr() == before.cross_keys_BHSE.data_ptr()
        assert after.cross_values_BHSE.data_ptr() == before.cross_values_BHSE.data_ptr()
        assert after.cross_keys_BHSE.size(0) == 3
        assert after.keys_NHTE is not None and after.keys_NHTE.shape[:3] == (12, 2, 2)


# Watched.


@every_shape
def test_a_watched_model_computes_what_it_computes_unwatched(shape):
    model, source_BS, target_BT = tiny(**shape), padded_source(), pieces(3, T)
    assert_same(model(source_BS, target_BT, Look()), model(source_BS, target_BT), within=2e-6)


def test_a_watched_step_computes_what_it_computes_unwatched():
    model = tiny()
    _, state = write(model, model.start(model.encode(padded_source())), pieces(3, 3))
    for new in (1, 2):
        hidden, _ = model.decode(pieces(3, new, seed=8), state)
        watched, _ = model.decode(pieces(3, new, seed=8), state, Look())
        torch.testing.assert_close(watched, hidden, atol=2e-6, rtol=0)


@both_norms
def test_addresses_count_from_one_and_come_once_in_the_order_of_the_work(norm):
    look = Look()
    tiny(norm=norm, encoder_layers=2, decoder_layers=3)(padded_source(), pieces(3, T), look)
    attentions = ["encoder.1.self", "encoder.2.self"]
    attentions += [f"decoder.{number}.{part}" for number in (1, 2, 3) for part in ("self", "cross")]
    assert [name for name, _ in look.weights_seen] == attentions
    layers = [name for name, _ in look.seen if re.fullmatch(r"\w+\.\d", name)]
    assert layers == ["encoder.1", "encoder.2", "decoder.1", "decoder.2", "decoder.3"]
    names = [name for name, _ in look.seen]
    assert len(names) == len(set(names))


def test_the_lens_sees_all_weights_of_all_heads():
    look = Look()
    tiny()(padded_source(), pieces(3, T), look)
    shapes = {name: tuple(weights.shape) for name, weights in look.weights_seen}
    assert shapes["encoder.2.self"] == (3, 2, S, S)
    assert shapes["decoder.1.self"] == (3, 2, T, T)
    assert shapes["decoder.2.cross"] == (3, 2, T, S)
    weights = dict(look.weights_seen)
    assert not weights["encoder.1.self"][1, ..., 4:].any()
    assert not weights["decoder.2.cross"][1, ..., 4:].any()
    assert not weights["decoder.2.self"].triu(1).any()


def test_the_lens_sees_what_each_layer_hands_on():
    look, model, source_BS = Look(), tiny(norm="post"), padded_source()
    memory = model.encode(source_BS, look)
    assert torch.equal(dict(look.seen)["encoder.2"], memory.hidden_BSD)
    hidden_BTD, _ = model.decode(pieces(3, T), model.start(memory), look)
    assert torch.equal(dict(look.seen)["decoder.2"], hidden_BTD)


@both_norms
def test_the_lens_sees_each_sum_and_norm_on_the_way(norm):
    look, model = Look(), tiny(norm=norm)
    hidden_BTD, _ = model.decode(pieces(3, T), model.start(model.encode(padded_source(), look)), look)
    seen = dict(look.seen)
    for stack in ("encoder", "decoder"):
        assert torch.equal(seen[f"{stack}.scaled"], seen[f"{stack}.embedding"] * model.settings.width**0.5)
        assert torch.equal(seen[f"{stack}.sum"], seen[f"{stack}.scaled"] + seen[f"{stack}.position"])
    assert torch.equal(seen["decoder.output"], hidden_BTD)
    x = seen["decoder.1"]
    layer: Any = model.decoder["2"]
    for part in ("self", "cross", "feedforward"):
        its = {name: seen[f"decoder.2.{part}.{name}"] for name in ("input", "output", "residual", "norm")}
        norm_of = getattr(layer, f"{part}_norm")
        assert torch.equal(its["input"], norm_of(x) if norm == "pre" else x)
        assert torch.equal(its["residual"], x + its["output"])
        x = its["residual"] if norm == "pre" else norm_of(its["residual"])
        assert torch.equal(its["norm"], its["input"] if norm == "pre" else x)
    assert torch.equal(x, seen["decoder.2"])
    assert torch.equal(seen["decoder.2.feedforward.active"], seen["decoder.2.feedforward.inner"].clamp(min=0))
    assert torch.equal(layer.cross.output(seen["decoder.2.cross.joined"]), seen["decoder.2.cross.output"])


def test_the_weights_of_a_step_are_the_last_row_of_those_of_the_whole():
    model, memory_of, target_BT = tiny(), padded_source(), pieces(3, T)
    whole, step = Look(), Look()
    memory = model.encode(memory_of)
    model.decode(target_BT, model.start(memory), whole)
    _, state = model.decode(target_BT[:, :-1], model.start(memory))
    model.decode(target_BT[:, -1:], state, step)
    for (name, all_BHLM), (same_name, last_BH1M) in zip(whole.weights_seen, step.weights_seen, strict=True):
        assert name == same_name
        torch.testing.assert_close(last_BH1M, all_BHLM[:, :, -1:], atol=1e-6, rtol=0)


def test_two_threads_may_look_and_translate_at_once():
    model, source_BS, target_BT = tiny(), padded_source(), pieces(3, T)
    together = threading.Barrier(2)

    def look() -> list[tuple[str, Tensor]]:
        lens = Look()
        with torch.inference_mode():
            model(source_BS, target_BT, lens)
        return lens.weights_seen

    def translate() -> Tensor:
        with torch.inference_mode():
            return write(model, model.start(model.encode(source_BS)), *target_BT.split(1, dim=1))[0]

    def often(work: Any) -> list[Any]:
        together.wait()
        return [work() for _ in range(20)]

    seen_alone, scores_alone = look(), translate()
    with ThreadPoolExecutor(2) as pool:
        looking, translating = pool.submit(often, look), pool.submit(often, translate)
    for seen in looking.result():
        assert [name for name, _ in seen] == [name for name, _ in seen_alone]
        assert all(torch.equal(one, other) for (_, one), (_, other) in zip(seen, seen_alone, strict=True))
    assert all(torch.equal(scores, scores_alone) for scores in translating.result())


# As torch has it.


def copy_attention(ours: Any, theirs: nn.MultiheadAttention) -> None:
    projections = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([projection.weight for projection in projections]))
    theirs.in_proj_bias.copy_(torch.cat([projection.bias for projection in projections]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def copy_layers(ours: Any, theirs: Any) -> None:
    """Our layers' weights into torch's."""
    for number, layer in enumerate(theirs.layers, start=1):
        our = ours[str(number)]
        copy_attention(our.self, layer.self_attn)
        norms = [our.self_norm, our.feedforward_norm]
        if hasattr(our, "cross"):
            copy_attention(our.cross, layer.multihead_attn)
            norms.insert(1, our.cross_norm)
        layer.linear1.load_state_dict(our.feedforward.inner.state_dict())
        layer.linear2.load_state_dict(our.feedforward.outer.state_dict())
        for index, norm in enumerate(norms, start=1):
            getattr(layer, f"norm{index}").load_state_dict(norm.state_dict())
    if theirs.norm is not None:
        theirs.norm.load_state_dict(ours["norm"].state_dict())


def embedded(model: Transformer, tokens_BT: Tensor) -> Tensor:
    x_BTD: Tensor = model.embedding(tokens_BT) * 4 + model.positions(0, tokens_BT.size(1))  # 4 = sqrt(16)
    return x_BTD


@both_norms
@pytest.mark.parametrize("source", [padded_source, lambda: pieces(3, S)], ids=["padded", "full"])
def test_the_encoder_is_torchs_with_the_same_weights(norm, source):
    model, source_BS = tiny(norm=norm), source()
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True, norm_first=norm == "pre")
    last = nn.LayerNorm(16) if norm == "pre" else None
    torchs = nn.TransformerEncoder(layer, 2, norm=last, enable_nested_tensor=False)
    copy_layers(model.encoder, torchs)
    expected_BSD = torchs(embedded(model, source_BS), src_key_padding_mask=source_BS == PAD)
    torch.testing.assert_close(model.encode(source_BS).hidden_BSD, expected_BSD, atol=1e-5, rtol=0)


@both_norms
@pytest.mark.parametrize("source", [padded_source, lambda: pieces(3, S)], ids=["padded", "full"])
def test_the_decoder_is_torchs_with_the_same_weights(norm, source):
    model, source_BS, target_BT = tiny(norm=norm, decoder_layers=3), source(), pieces(3, T)
    layer = nn.TransformerDecoderLayer(16, 2, 32, dropout=0, batch_first=True, norm_first=norm == "pre")
    torchs = nn.TransformerDecoder(layer, 3, norm=nn.LayerNorm(16) if norm == "pre" else None)
    copy_layers(model.decoder, torchs)
    memory = model.encode(source_BS)
    hidden_BTD, _ = model.decode(target_BT, model.start(memory))
    expected_BTD = torchs(
        embedded(model, target_BT),
        memory.hidden_BSD,
        tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),  # torch's True means may not look
        memory_key_padding_mask=source_BS == PAD,
    )
    torch.testing.assert_close(hidden_BTD, expected_BTD, atol=1e-5, rtol=0)


# Names and shapes.


@both_norms
@pytest.mark.parametrize("positions", ["sinusoid", "learned"])
def test_the_names_of_the_weights_read_aloud(norm, positions):
    model = tiny(norm=norm, positions=positions, encoder_layers=1, decoder_layers=1)
    modules = {
        f"{attention}.{part}"
        for attention in ("encoder.1.self", "decoder.1.self", "decoder.1.cross")
        for part in ("query", "key", "value", "output")
    }
    modules |= {f"{stack}.1.feedforward.{part}" for stack in ("encoder", "decoder") for part in ("inner", "outer")}
    modules |= {f"{stack}.1.{part}_norm" for stack in ("encoder", "decoder") for part in ("self", "feedforward")}
    modules |= {"decoder.1.cross_norm"}
    if norm == "pre":
        modules |= {"encoder.norm", "decoder.norm"}
    names = {f"{module}.{kind}" for module in modules for kind in ("weight", "bias")} | {"embedding.weight"}
    if positions == "learned":
        names |= {"positions.weight"}
    assert set(model.state_dict()) == names
    assert set(dict(model.named_parameters())) == names


def test_layers_count_from_one():
    model = tiny(encoder_layers=3, decoder_layers=1)
    numbers = {name.split(".")[1] for name in model.state_dict() if name.startswith("encoder.")}
    assert numbers == {"1", "2", "3"}
    assert {name.split(".")[1] for name in model.state_dict() if name.startswith("decoder.")} == {"1"}


def test_a_model_starts_with_embeddings_of_the_right_size_and_without_biases():
    model = Transformer(TransformerSettings(vocab_size=2000, width=64, heads=2, encoder_layers=1, decoder_layers=1))
    assert model.embedding.weight.std().item() == pytest.approx(64**-0.5, rel=0.02)
    assert not any(layer.bias.any() for layer in model.modules() if isinstance(layer, nn.Linear))


def test_weights_saved_from_one_model_make_another_the_same():
    model, other = tiny(), Transformer(tiny().settings)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(padded_source(), pieces(3, T)), model(padded_source(), pieces(3, T)))


# The edges of the table of positions.


@pytest.mark.parametrize("kind", ["sinusoid", "learned"])
def test_the_table_of_positions_is_used_to_its_last_row_and_no_further(kind):
    model = tiny(positions=kind, max_positions=8)
    assert model(pieces(2, 8), pieces(2, 8)).shape == (2, 8, VOCABULARY)
    with pytest.raises(ValueError, match="position 9 is past the table of 8: split the text first"):
        model.encode(pieces(2, 9))
    _, state = write(model, model.start(model.encode(pieces(2, 3))), pieces(2, 8))
    with pytest.raises(ValueError, match="position 9 is past the table of 8"):
        model.decode(pieces(2, 1), state)


def test_positions_are_rows_of_the_table():
    positions = Positions("learned", 9, 4)
    assert torch.equal(positions(2, 3), positions.weight[2:5])


# Dropout.


def test_dropout_changes_what_a_model_in_training_computes_and_nothing_else():
    model, source_BS, target_BT = tiny(dropout=0.3), padded_source(), pieces(3, T)
    plain = model(source_BS, target_BT)
    assert torch.equal(plain, tiny(dropout=0.0)(source_BS, target_BT))
    model.train()
    dropped = model(source_BS, target_BT)
    assert not torch.allclose(dropped, plain, atol=0.01)
    assert not torch.allclose(dropped, model(source_BS, target_BT), atol=0.01)
    assert torch.equal(model.eval()(source_BS, target_BT), plain)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_dropout_drops_the_share_it_is_told(rate):
    dropped = Dropout(rate)(torch.ones(100, 400)) == 0
    assert dropped.float().mean().item() == pytest.approx(rate, abs=0.01)
    # Four numbers share a draw of random bits; each has the same chance, and does not follow its neighbour.
    in_fours = dropped.view(-1, 4).float()
    assert in_fours.mean(dim=0).tolist() == pytest.approx([rate] * 4, abs=0.02)
    assert (in_fours.T.corrcoef() - torch.eye(4)).abs().max().item() < 0.04


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_keeps_the_expectation(rate):
    out = Dropout(rate)(torch.ones(40_000))
    assert out.mean().item() == pytest.approx(1, abs=0.02)
    kept = out[out != 0]
    assert kept.unique().tolist() == pytest.approx([1 / (1 - rate)], rel=1e-4)


@pytest.mark.parametrize("shape", [(1,), (3,), (5, 7), (2, 3, 4)], ids=str)
def test_dropout_takes_any_shape(shape):
    out = Dropout(0.5)(torch.ones(shape))
    assert out.shape == shape
    assert bool(((out == 0) | (out == 2)).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dropout_keeps_the_kind_of_number(dtype):
    assert Dropout(0.5)(torch.ones(8, dtype=dtype)).dtype == dtype


def test_dropout_of_nothing_and_dropout_outside_training_are_the_identity():
    x = torch.randn(5, 7)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x


def test_the_same_seed_drops_the_same_numbers():
    dropout, x = Dropout(0.5), torch.randn(20, 20)
    results = []
    for seed in (4, 4, 5):
        torch.manual_seed(seed)
        results.append(dropout(x))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_the_gradient_of_dropout_is_its_mask():
    x = torch.ones(6, 6, requires_grad=True)
    out = Dropout(0.4)(x)
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, out)  # of ones, so what came out is the mask
    assert 0 < int((out == 0).sum()) < 36

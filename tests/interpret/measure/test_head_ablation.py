"""What heads are worth: where a planted head is taken out, just what it carries is lost."""

from itertools import islice

import numpy as np
import pytest
import torch
from tests.interpret.planted import planted_model

from regard.data.synthetic.generator import minimal_pairs
from regard.errors import LookError
from regard.evaluation.scores import Scorer
from regard.inference.backends.torch import TorchBackend
from regard.interpret.address import check_head, head_addresses
from regard.interpret.annotated_pairs import PairSample, text_item
from regard.interpret.interventions import WAYS, ForcedAttention, HeadIntervention, IntervenedModel
from regard.interpret.measure.head_ablation import GREEDY, AblationCounts, ngrams
from regard.interpret.measure.head_ablation import _bleu as bleu
from regard.interpret.measure.pronoun_task import PronounTask, contrast, pronoun_texts
from regard.interpret.report.head_report import measure_head_report
from regard.interpret.selftest.planted_model import PLANTED, planted_sample
from regard.interpret.teacher_forcing import log_probabilities, make_batches
from regard.interpret.trace import Recorder
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings

CARRIES = "decoder.1.cross.1"


@pytest.fixture(scope="module")
def planted():
    model = planted_model()
    return model, planted_sample(model.tokenizer, 40)


@pytest.fixture(scope="module")
def measured(planted):
    model, sample = planted
    return run_to_end(
        measure_head_report(model.network, model.tokenizer, sample, name="planted", counts=AblationCounts(30, 20, 0))
    )


class Seen(Recorder):
    """Records what the model used after an edit."""

    def __init__(self, edit: HeadIntervention) -> None:
        super().__init__()
        self._edit = edit

    def see(self, name, tensor):
        super().see(name, tensor)
        self._edit.see(name, tensor)

    def weights(self, name, weights_BHLM):
        return super().weights(name, self._edit.weights(name, weights_BHLM))


def test_an_edit_changes_its_heads_and_no_others(model):
    source, target = torch.tensor([[270, 271, 272, 3], [273, 3, 0, 0]]), torch.tensor([[2, 280, 281], [2, 282, 283]])
    plain = Recorder()
    with torch.inference_mode():
        model.network(source, target, plain)
        for way in WAYS:
            for head in head_addresses(model.network.settings):
                attention, _, number = head.rpartition(".")
                lens = Seen(HeadIntervention([head], way))
                model.network(source, target, lens)
                weights = lens.seen[f"{attention}.weight"]
                others = [one for one in range(weights.size(1)) if one != int(number) - 1]
                torch.testing.assert_close(weights[:, others], plain.seen[f"{attention}.weight"][:, others])
                its = weights[:, int(number) - 1]
                if way == "zeroed":
                    assert not its.any()
                    continue
                torch.testing.assert_close(its.sum(dim=-1), torch.ones_like(its[..., 0]))
                expected = {"self": 3, "cross": 2}[attention.split(".")[2]] if "decoder" in attention else 2
                assert ((its[1] > 0).sum(dim=-1) == expected).any() and its[1, -1].unique().numel() <= 2


def test_a_model_under_no_edit_translates_as_without_the_lens(model):
    texts = ["the old cat sees a red tree.", "a dog paints."]
    plain = TorchBackend(model.network, model.tokenizer, max_positions=128)
    edited = TorchBackend(IntervenedModel(model.network, HeadIntervention([])), model.tokenizer, max_positions=128)
    decode = DecodeSettings(beam_size=3, max_length_offset=9)
    assert edited.translate_all(texts, decode) == plain.translate_all(texts, decode)


def test_without_the_head_that_carries_the_words_nothing_comes_over(planted, measured):
    assert measured.unablated.loss.value < 0.2 and measured.unablated.bleu > 99
    for head in PLANTED:
        for way in WAYS:
            worth = measured.ablation[head, way]
            if head == CARRIES:
                assert worth.loss.low > 1 and worth.bleu.high < -50
            else:
                assert worth.loss.value == pytest.approx(0, abs=1e-5) and worth.bleu.value == 0
            assert worth.pronoun is None


def test_log_probabilities_are_those_of_the_plain_model(model):
    items = [text_item("the cat sees it.", text, model.tokenizer) for text in ("it sees the cat.", "a dog.")]
    found = log_probabilities(model.network, make_batches(model.network, items))
    for item, logs in zip(items, found, strict=True):
        with torch.inference_mode():
            scores = model.network(torch.tensor([item.source_ids]), torch.tensor([item.read_ids]))[0].log_softmax(
                dim=-1
            )
        expected = [scores[row, piece].item() for row, piece in enumerate(item.written_ids)]
        np.testing.assert_allclose(logs, expected, atol=1e-4)


def test_sums_of_sentences_give_the_bleu_of_the_corpus(planted):
    _, sample = planted
    texts = [" ".join([*item.target.split()[:-1], "ant"]) for item in sample.pairs[:12]]
    counts = ngrams(texts, sample.pairs[:12])
    judge = Scorer([[one.target] for one in sample.pairs[:12]], names=["bleu"])
    assert bleu(counts.sum(axis=0)) == pytest.approx(judge.figures(list(judge.count(texts)))["bleu"])


def test_forced_rows_look_where_they_must_and_others_as_before(planted):
    model, sample = planted
    item = sample.pairs[0]
    source, read = torch.tensor([item.source_ids] * 2), torch.tensor([item.read_ids] * 2)
    force = ForcedAttention({CARRIES: [(range(2, 3), range(4, 6)), (range(0), range(1))]})
    plain, lens = Recorder(), Seen(force)
    with torch.inference_mode():
        model.network(source, read, plain)
        logits = model.network(source, read, lens)
    weights, before = lens.seen["decoder.1.cross.weight"], plain.seen["decoder.1.cross.weight"]
    assert weights[0, 0, 2].tolist() == [0, 0, 0, 0, 0.5, 0.5, 0, 0, 0]
    torch.testing.assert_close(weights[1], before[1])
    kept = [row for row in range(9) if row != 2]
    torch.testing.assert_close(weights[0, :, kept], before[0, :, kept])
    assert logits[0, 2].topk(2).indices.sort().values.tolist() == sorted(item.source_ids[4:6])


def test_the_other_pronoun_with_what_it_changes_before_it():
    pairs = [pair for both in islice(minimal_pairs(1, "test"), 60) for pair in both]
    seen = set()
    for pair in pairs:
        right, wrong = pronoun_texts(pair)
        assert pair.target.startswith(right) and right != wrong
        assert {right.split("'")[-1].split()[-1].rstrip("s"), wrong.split("'")[-1].split()[-1].rstrip("s")} == {
            "il",
            "elle",
        }
        seen.add((right.rpartition(" ")[2], wrong.rpartition(" ")[2]))
        assert "s'elle" not in wrong and " si il" not in wrong
    assert {("qu'il", "qu'elle"), ("s'il", "elle"), ("elle", "s'il")} <= seen


def test_pronouns_differ_from_where_they_are_said_to(model):
    pairs = [pair for both in islice(minimal_pairs(1, "test"), 3) for pair in both]
    contrasts = [contrast(pair, model.tokenizer) for pair in pairs]
    for one in contrasts:
        assert one.right.written_ids[: one.begin] == one.wrong.written_ids[: one.begin]
        assert one.right.written_ids[one.begin] != one.wrong.written_ids[one.begin]
    found = PronounTask(model.network, contrasts).preference()
    for one, preference in zip(contrasts, found, strict=True):
        logs = [
            log_probabilities(model.network, make_batches(model.network, [item]))[0][:-1].sum()
            for item in (one.right, one.wrong)
        ]
        assert preference == pytest.approx(logs[0] - logs[1], abs=1e-2)


def test_all_heads_in_one_picture(measured):
    lines = list(measured.lines(TerminalStyle()))
    assert any(line.startswith("encoder.1.self.1  previous; previous 1.00 [") for line in lines)
    assert any("decoder.1.cross.1  align, written; align, written 1.00" in line for line in lines)
    assert "Not measured, for want of 30 cases or of the truth: adjective → noun" in " ".join(lines)
    picture, page = measured.svg(), measured.html()
    for head in PLANTED:
        assert f"<title>{head}: " in picture and head in page
    assert "default-src 'none'" in page and "<script" not in page
    coloured = list(measured.lines(TerminalStyle(100, 256)))
    assert sum("\x1b[" in line for line in coloured) >= 3
    facts = measured.json()
    assert [head["role"] for head in facts["heads"]] == list(PLANTED.values())
    assert facts["heads"][8]["worth"]["zeroed"]["loss"]["value"] > 1


def test_no_such_head(model_of):
    settings = model_of("pre").network.settings
    assert check_head("decoder.2.cross.2", settings) == "decoder.2.cross.2"
    with pytest.raises(LookError, match=r"no head 'decoder.3.cross.1'; this model's heads are encoder.1.self.1 to"):
        check_head("decoder.3.cross.1", settings)


def test_greedy_is_greedy():
    assert GREEDY.beam_size == 1


def test_a_sample_without_truth_has_no_pronouns(planted):
    model, sample = planted
    small = PairSample("two", sample.pairs[:2])
    found = run_to_end(
        measure_head_report(model.network, model.tokenizer, small, name="x", counts=AblationCounts(2, 2, 5))
    )
    assert found.unablated.pronoun is None

"""Head ablation: removing a planted head loses exactly what it carries."""

from itertools import islice

import numpy as np
import pytest
import torch
from tests.interpret.planted import planted_model
from tests.padded import inputs

from regard.data.synthetic.generator import minimal_pairs
from regard.errors import LookError
from regard.evaluation.scores import Scorer
from regard.inference.backends.torch import TorchBackend
from regard.inference.translator import Translator
from regard.interpret.address import check_head, locate_head
from regard.interpret.annotated_pairs import PairSample, unannotated_pair
from regard.interpret.intervened_model import IntervenedModel
from regard.interpret.interventions import ABLATION_MODES, ForcedAttention, HeadIntervention, InterventionRecorder
from regard.interpret.measure.head_ablation import corpus_bleu, measure_heads, ngram_counts
from regard.interpret.measure.pronoun_task import PronounTask, contrast, pronoun_texts
from regard.interpret.report.head_report import HeadReport
from regard.interpret.selftest.planted_model import PLANTED, planted_sample
from regard.interpret.teacher_forcing import encode_batches, log_probabilities
from regard.interpret.trace import Recorder
from regard.models.inputs import Inputs
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings

ALIGNMENT_HEAD = "decoder.1.cross.1"


@pytest.fixture(scope="module")
def planted():
    model = planted_model()
    return model, planted_sample(model.tokenizer, 40)


@pytest.fixture(scope="module")
def measurement(planted):
    model, sample = planted
    return run_to_end(measure_heads(model.network, model.tokenizer, PairSample("planted", sample.pairs[:30])))


def test_an_intervention_changes_its_heads_and_no_others(model):
    source, target = torch.tensor([[270, 271, 272, 3], [273, 3, 0, 0]]), torch.tensor([[2, 280, 281], [2, 282, 283]])
    plain = Recorder()
    with torch.inference_mode():
        model.network(inputs(source), target, plain)
        for mode in ABLATION_MODES:
            for address in model.network.anatomy().heads:
                attention, head = locate_head(address)
                lens = InterventionRecorder(HeadIntervention([address], mode), "test")
                model.network(inputs(source), target, lens)
                weights = lens.tensors[f"{attention}.weight"]
                others = [number for number in range(weights.size(1)) if number != head]
                torch.testing.assert_close(weights[:, others], plain.tensors[f"{attention}.weight"][:, others])
                changed = weights[:, head]
                if mode == "zeroed":
                    assert not changed.any()
                    continue
                torch.testing.assert_close(changed.sum(dim=-1), torch.ones_like(changed[..., 0]))
                allowed = 3 if model.network.anatomy().attention(attention).causal else 2
                assert ((changed[1] > 0).sum(dim=-1) == allowed).any() and changed[1, -1].unique().numel() <= 2


def test_a_model_under_an_empty_intervention_translates_like_the_plain_model(model):
    texts = ["the old cat sees a red tree.", "a dog paints."]
    plain, intervened = (
        Translator(TorchBackend(network, model.tokenizer.generable), model.tokenizer, max_positions=128)
        for network in (model.network, IntervenedModel(model.network, HeadIntervention([])))
    )
    decode = DecodeSettings(beam_size=3, max_length_offset=9)
    assert intervened.translate(texts, decode) == plain.translate(texts, decode)


def test_only_the_head_that_carries_the_words_has_an_ablation_effect(measurement):
    assert measurement.unablated.loss.value < 0.2 and measurement.unablated.bleu > 99
    for head in PLANTED:
        for mode in ABLATION_MODES:
            effect = measurement.ablation[head, mode]
            if head == ALIGNMENT_HEAD:
                assert effect.loss.low > 1
            else:
                assert effect.loss.value == pytest.approx(0, abs=1e-5)
            if mode == "uniform":
                assert effect.changed is None and effect.bleu is None
            elif head == ALIGNMENT_HEAD:
                assert effect.bleu < -50 and effect.changed.value == 1 and effect.changed.low > 0.75
            else:  # no translation changes, but more sentences could show a change
                assert effect.bleu == 0 and effect.changed.value == 0 and 0.1 < effect.changed.high < 0.3
            assert effect.pronoun is None


def test_log_probabilities_equal_those_of_the_plain_model(model):
    texts = ("it sees the cat.", "a dog.")
    pairs = [unannotated_pair("the cat sees it.", text, model.tokenizer) for text in texts]
    results = log_probabilities(model.network, encode_batches(model.network, pairs))
    for pair, logs in zip(pairs, results, strict=True):
        with torch.inference_mode():
            logits = model.network(Inputs(torch.tensor([pair.source_ids])), torch.tensor([pair.decoder_input_ids]))[0]
        expected = [logits.log_softmax(dim=-1)[row, token].item() for row, token in enumerate(pair.target_ids)]
        np.testing.assert_allclose(logs, expected, atol=1e-4)


def test_summed_sentence_statistics_give_the_bleu_of_the_corpus(planted):
    _, sample = planted
    texts = [" ".join([*pair.target.split()[:-1], "ant"]) for pair in sample.pairs[:12]]
    counts = ngram_counts(texts, sample.pairs[:12])
    scorer = Scorer([[pair.target] for pair in sample.pairs[:12]], names=["bleu"])
    assert corpus_bleu(counts.sum(axis=0)) == pytest.approx(
        scorer.metric_scores(list(scorer.statistics(texts)))["bleu"]
    )


def test_forced_rows_attend_to_the_chosen_columns_and_other_rows_as_before(planted):
    model, sample = planted
    pair = sample.pairs[0]
    source, decoder_input = torch.tensor([pair.source_ids] * 2), torch.tensor([pair.decoder_input_ids] * 2)
    forced = ForcedAttention({ALIGNMENT_HEAD: [(range(2, 3), range(4, 6)), (range(0), range(1))]})
    plain, lens = Recorder(), InterventionRecorder(forced, "test")
    with torch.inference_mode():
        model.network(inputs(source), decoder_input, plain)
        logits = model.network(inputs(source), decoder_input, lens)
    weights, before = lens.tensors["decoder.1.cross.weight"], plain.tensors["decoder.1.cross.weight"]
    assert weights[0, 0, 2].tolist() == [0, 0, 0, 0, 0.5, 0.5, 0, 0, 0]
    torch.testing.assert_close(weights[1], before[1])
    other_rows = [row for row in range(9) if row != 2]
    torch.testing.assert_close(weights[0, :, other_rows], before[0, :, other_rows])
    assert logits[0, 2].topk(2).indices.sort().values.tolist() == sorted(pair.source_ids[4:6])


def test_the_incorrect_pronoun_changes_the_elision_before_it():
    sentences = [sentence for both in islice(minimal_pairs(1, "test"), 60) for sentence in both]
    endings = set()
    for sentence in sentences:
        correct, incorrect = pronoun_texts(sentence)
        assert sentence.target.startswith(correct) and correct != incorrect
        assert {
            correct.split("'")[-1].split()[-1].rstrip("s"),
            incorrect.split("'")[-1].split()[-1].rstrip("s"),
        } == {"il", "elle"}
        endings.add((correct.rpartition(" ")[2], incorrect.rpartition(" ")[2]))
        assert "s'elle" not in incorrect and " si il" not in incorrect
    assert {("qu'il", "qu'elle"), ("s'il", "elle"), ("elle", "s'il")} <= endings


def test_the_two_targets_of_a_contrast_differ_from_its_first_row_on(model):
    sentences = [sentence for both in islice(minimal_pairs(1, "test"), 3) for sentence in both]
    contrasts = [contrast(sentence, model.tokenizer) for sentence in sentences]
    for each in contrasts:
        assert each.correct.target_ids[: each.begin] == each.incorrect.target_ids[: each.begin]
        assert each.correct.target_ids[each.begin] != each.incorrect.target_ids[each.begin]
    preferences = PronounTask(model.network, contrasts).preference()
    for each, preference in zip(contrasts, preferences, strict=True):
        logs = [
            log_probabilities(model.network, encode_batches(model.network, [pair]))[0][:-1].sum()
            for pair in (each.correct, each.incorrect)
        ]
        assert preference == pytest.approx(logs[0] - logs[1], abs=1e-2)


def test_the_report_has_every_head_as_lines_picture_page_and_json(measurement):
    report = HeadReport("planted", measurement)
    lines = list(report.lines(TerminalStyle()))
    assert any(line.startswith("encoder.1.self.1  previous; previous 1.00 [") for line in lines)
    assert any("decoder.1.cross.1  align, written; align, written 1.00" in line for line in lines)
    assert "Not measured (fewer than 30 cases, or no annotations): adjective → noun" in " ".join(lines)
    picture, page = report.svg(), report.html()
    for head in PLANTED:
        assert f"<title>{head}: " in picture and head in page
    assert "default-src 'none'" in page and "<script" not in page
    coloured = list(report.lines(TerminalStyle(100, 256)))
    assert sum("\x1b[" in line for line in coloured) >= 3
    facts = report.to_dict()
    assert [head["role"] for head in facts["heads"]] == list(PLANTED.values())
    assert facts["heads"][8]["ablation_effect"]["zeroed"]["loss"]["value"] > 1


def test_an_unknown_head_is_an_error(model_of):
    anatomy = model_of("pre").network.anatomy()
    assert check_head("decoder.2.cross.2", anatomy) == "decoder.2.cross.2"
    with pytest.raises(LookError, match=r"no head 'decoder.3.cross.1'; this model's heads are encoder.1.self.1 to"):
        check_head("decoder.3.cross.1", anatomy)


def test_a_sample_without_annotations_has_no_pronoun_accuracy(planted):
    model, sample = planted
    small = PairSample("two", sample.pairs[:2])
    measurement = run_to_end(measure_heads(model.network, model.tokenizer, small))
    assert measurement.unablated.pronoun is None

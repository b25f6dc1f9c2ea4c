"""Measurements of recurrent models: with one head they work, and without attention they say what the model has."""

import pytest
from tests.interpret.recurrent_models import recurrent_model

from regard.errors import LookError
from regard.interpret.annotated_pairs import synthetic_sample
from regard.interpret.measure import probes, pronoun_experiment
from regard.interpret.measure.head_ablation import measure_heads
from regard.interpret.measure.probe_tasks import TASKS
from regard.interpret.measure.pronoun_interventions import control_heads
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle

NO_ATTENTION = (
    "this model has no attention.*the recurrent layers encoder.1.forwards, .*decoder.2.*`regard measure probes`"
)


@pytest.mark.parametrize("measure", ["measure_heads", "measure_pronouns", "measure_alignment"])
def test_a_model_without_attention_says_what_it_has_instead(measure):
    with pytest.raises(LookError, match=NO_ATTENTION):
        getattr(recurrent_model("gru", "none"), measure)(count=10)


def test_the_only_head_is_measured(monkeypatch):
    monkeypatch.setattr("regard.interpret.measure.alignment_baselines.TRAINING_PAIRS", 20)
    model = recurrent_model("gru", "dot")
    found = run_to_end(measure_heads(model.network, model.tokenizer, synthetic_sample(model.tokenizer, 10)))
    assert [profile.address for profile in found.profiles] == ["decoder.2.cross.1"]
    effect = found.ablation["decoder.2.cross.1", "zeroed"]
    assert effect.loss.value != 0 and effect.changed is not None and effect.pronoun is not None
    # The number of pairs is that of everything: sentences for loss and translations, minimal pairs for pronouns.
    assert found.unablated.pronoun is not None and found.unablated.translated == found.unablated.loss.count == 10
    assert (
        effect.loss.count == effect.changed.count == 10 and effect.pronoun.count == found.unablated.pronoun.count == 20
    )
    assert model.measure_alignment(count=20).chosen.head == "decoder.2.cross.1"


def test_pronouns_are_measured_without_positions_and_without_a_control_head(monkeypatch):
    monkeypatch.setattr(pronoun_experiment, "baselines", lambda pairs: ())
    report = recurrent_model("gru", "dot").measure_pronouns(count=4)
    assert [system.name for system in report.experiment.baselines] == ["this model"]
    assert "corrected for 1 question (one per head and query)" in "\n".join(report.lines(TerminalStyle(80)))
    assert control_heads(("decoder.2.cross.1",), recurrent_model("gru", "dot").network) == ()


def test_probes_measure_the_recurrent_layers(monkeypatch):
    monkeypatch.setattr(probes, "TASKS", {"position": TASKS["position"]})
    monkeypatch.setattr(probes, "_MAX_ITERATIONS", 2)
    report = recurrent_model("gru", "none").measure_probes(count=10)
    assert {len(probe.layers) for probe in report.measurement.probes} == {3}
    assert "Layer 0 is embedding, with no information about the source." in "\n".join(report.lines(TerminalStyle(80)))

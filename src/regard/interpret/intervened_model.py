"""A model with an intervention on its heads, which has the interface of a model, so that it can translate."""

from typing import Any

from torch import Tensor

from regard.interpret.interventions import HeadIntervention, head_intervention
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.models.lens import Lens


class IntervenedModel(AutoregressiveModel):
    """A model with an intervention on its heads; the search and the translator use it like any other model."""

    def __init__(self, model: AutoregressiveModel, intervention: HeadIntervention) -> None:
        super().__init__(model.settings)
        self._model = model
        anatomy = model.anatomy()
        self._encoder_lens = intervention if intervention.affects("source", anatomy) else None
        self._decoder_lens = intervention if intervention.affects("target", anatomy) else None
        self.eval()

    def encode(self, inputs: Inputs, lens: Lens | None = None) -> Any:
        return self._model.encode(inputs, self._encoder_lens)

    def start(self, encoded: Any) -> Any:
        return self._model.start(encoded)

    def decode(self, tokens_NT: Tensor, state: Any, lens: Lens | None = None) -> tuple[Tensor, Any]:
        return self._model.decode(tokens_NT, state, self._decoder_lens)

    def project(self, hidden: Tensor) -> Tensor:
        return self._model.project(hidden)


def without_head(
    model: AutoregressiveModel, without: str | None, instead: str | None, source_length: int
) -> IntervenedModel | None:
    """Return the model with an intervention on one head, or None if `without` is not the address of a head."""
    intervention = head_intervention(model.anatomy(), without, instead, source_length)
    return IntervenedModel(model, intervention) if intervention else None

"""Front ends for sources that are vectors instead of token ids, such as frames of sound or patches of an image.

A front end maps `Inputs` to `Inputs` of the model's width, and may shorten them. A source of token ids has no front
end: the model looks them up in its embedding matrix.
"""

from torch import Tensor, nn

from regard.models.inputs import Inputs


class StridedProjection(nn.Module):
    """Joins every `stride` neighbouring vectors and projects them to the width of the model.

    With a stride of 2, a sequence of 7 vectors becomes one of 4. Padding counts as zeros.
    """

    def __init__(self, features: int, width: int, stride: int = 1) -> None:
        super().__init__()
        self.stride = stride
        self.projection = nn.Linear(stride * features, width)

    def forward(self, inputs: Inputs) -> Inputs:
        values_BSF, mask_BS = inputs.values, inputs.mask_BS
        if mask_BS is not None:
            values_BSF = values_BSF * mask_BS[:, :, None]
        missing = -values_BSF.size(1) % self.stride
        values_BSF = nn.functional.pad(values_BSF, (0, 0, 0, missing))
        joined: Tensor = values_BSF.unflatten(1, (-1, self.stride)).flatten(2)
        # A joined vector is real if its first part is: padding is on the right.
        return Inputs(self.projection(joined), None if mask_BS is None else mask_BS[:, :: self.stride])

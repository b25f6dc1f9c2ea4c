"""The best continuations of the hypotheses of a beam."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Candidates:
    """Continuations of each sentence: the beam each continues, and by which piece."""

    total_BC: Tensor
    beams_BC: Tensor
    tokens_BC: Tensor
    gains_BC: Tensor  # the log-probability of the piece alone

    def pick(self, index_BK: Tensor) -> "Candidates":
        return Candidates(
            self.total_BC.gather(1, index_BK),
            self.beams_BC.gather(1, index_BK),
            self.tokens_BC.gather(1, index_BK),
            self.gains_BC.gather(1, index_BK),
        )

    def keep(self, sentences: Tensor) -> "Candidates":
        return Candidates(
            self.total_BC[sentences], self.beams_BC[sentences], self.tokens_BC[sentences], self.gains_BC[sentences]
        )


def top_candidates(log_NV: Tensor, total_BK: Tensor, beams: int) -> Candidates:
    """The likeliest continuations, best first."""
    # 2K candidates: even if K of them end here, K are left to go on. One beam needs no second: it ends or goes on.
    count = 2 * beams if beams > 1 else 1
    # The best of a sentence are among the best of each of its beams; looking there first spares adding K * V sums.
    each = min(count, log_NV.size(1))
    gains_NE, pieces_NE = log_NV.topk(each, dim=1)
    gains_BKE, pieces_BKE = gains_NE.unflatten(0, total_BK.shape), pieces_NE.unflatten(0, total_BK.shape)
    total_BX = (total_BK[:, :, None] + gains_BKE).flatten(1)
    total_BC, index_BC = total_BX.topk(min(count, total_BX.size(1)), dim=1)
    return Candidates(
        total_BC, index_BC // each, pieces_BKE.flatten(1).gather(1, index_BC), gains_BKE.flatten(1).gather(1, index_BC)
    )

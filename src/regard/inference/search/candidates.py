"""The candidates of a search: unfinished hypotheses, each continued with one more token."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Candidates:
    """C candidates for each sentence. A candidate continues the hypothesis of one beam with one token."""

    total_BC: Tensor  # the log-probability of the whole hypothesis, including the new token
    beams_BC: Tensor
    tokens_BC: Tensor
    log_BC: Tensor  # the log-probability of the new token

    def pick(self, index_BK: Tensor) -> "Candidates":
        return Candidates(
            self.total_BC.gather(1, index_BK),
            self.beams_BC.gather(1, index_BK),
            self.tokens_BC.gather(1, index_BK),
            self.log_BC.gather(1, index_BK),
        )

    def keep(self, sentences: Tensor) -> "Candidates":
        return Candidates(
            self.total_BC[sentences], self.beams_BC[sentences], self.tokens_BC[sentences], self.log_BC[sentences]
        )


def top_candidates(log_NV: Tensor, total_BK: Tensor, beams: int) -> Candidates:
    """Return the most probable candidates of each sentence, best first: 2K if K > 1, and one if K = 1."""
    # Even if K of 2K candidates end in EOS, K are left to continue. A single beam either ends or continues.
    count = 2 * beams if beams > 1 else 1
    # Choosing the best tokens of each beam first is faster than adding the totals to all K * V log-probabilities.
    each = min(count, log_NV.size(1))
    log_NE, tokens_NE = log_NV.topk(each, dim=1)
    log_BKE, tokens_BKE = log_NE.unflatten(0, total_BK.shape), tokens_NE.unflatten(0, total_BK.shape)
    total_BX = (total_BK[:, :, None] + log_BKE).flatten(1)
    total_BC, index_BC = total_BX.topk(min(count, total_BX.size(1)), dim=1)
    return Candidates(
        total_BC, index_BC // each, tokens_BKE.flatten(1).gather(1, index_BC), log_BKE.flatten(1).gather(1, index_BC)
    )

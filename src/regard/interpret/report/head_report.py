"""All heads of a model with their roles and their worth: as data, as lines for a terminal, and as one picture."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from regard.interpret.address import attention_addresses
from regard.interpret.annotated_pairs import PairSample
from regard.interpret.measure.head_ablation import AblationCounts, AblationEffect, UnablatedScores, measure_ablation
from regard.interpret.measure.head_roles import EVEN, FEW, LIFT, OFTEN, HeadProfile, measure_heads
from regard.interpret.measure.role_criteria import MEANING, POSITIONAL
from regard.progress import Work
from regard.render.colour_scale import colour
from regard.render.html_page import HtmlReport, page, paragraphs, picture, table
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.render.text import pad
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

_SHORT = {
    "previous": "previous",
    "verb → subject": "v→subject",
    "verb → object": "v→object",
    "verb → instrument": "v→instr.",
    "adjective → noun": "adj→noun",
    "align, read": "align rd",
    "align, written": "align wr",
}

_WIDE, _HIGH, _LEFT, _TOP = 92, 40, 130, 64


@dataclass(frozen=True)
class HeadReport(HtmlReport):
    """Every head of a model: what it does and what it is worth."""

    model: str
    settings: TransformerSettings
    pairs: int
    data: str
    unablated: UnablatedScores
    profiles: tuple[HeadProfile, ...]
    ablation: dict[tuple[str, str], AblationEffect]

    def json(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        heads = [
            {
                **asdict(card),
                "role": card.role,
                "worth": {way: asdict(one) for (head, way), one in self.ablation.items() if head == card.address},
            }
            for card in self.profiles
        ]
        return {
            "model": self.model,
            "data": self.data,
            "pairs": self.pairs,
            "whole": asdict(self.unablated),
            "heads": heads,
        }

    def lines(self, paper: TerminalStyle) -> Iterator[str]:
        """What was measured, the picture where there are colours, a line for each head, and how to read it."""
        yield from self._heading()
        yield ""
        if paper.colours:
            yield from self._grid(paper)
            yield ""
        for card in self.profiles:
            yield f"{paper.strong(card.address)}  {self._said(card)}"
        yield ""
        yield from self._reading()

    def svg(self) -> str:
        """One picture with all heads."""
        rows = attention_addresses(self.settings)
        parts = [
            '<text x="8" y="20" font-weight="bold">Every head: its role, and how much the loss grows without it</text>',
            f'<text x="8" y="40">{escape(self.model)}; {self.pairs} {escape(self.data)}</text>',
            *(
                f'<text x="{_LEFT - 8}" y="{_TOP + _HIGH * row + 24}" text-anchor="end">{name}</text>'
                for row, name in enumerate(rows)
            ),
            *(self._cell(card, rows) for card in self.profiles),
        ]
        width = max(_LEFT + _WIDE * self.settings.heads + 16, 460)
        return svg(width, _TOP + _HIGH * len(rows) + 16, "All heads with roles and worth", parts)

    def html(self) -> str:
        """One self-contained page."""
        head = ["head", "role", "confidence", "entropy", "what it is best at", "loss without", "BLEU without"]
        rows = [
            [
                card.address,
                card.role or "none found",
                f"{card.confidence:.2f}",
                f"{card.entropy:.2f}",
                _best(card),
                f"{self.ablation[card.address, 'zeroed'].loss:+.3f}",
                f"{self.ablation[card.address, 'zeroed'].bleu:+.1f}",
            ]
            for card in self.profiles
        ]
        said = paragraphs(self._heading()) + picture(self.svg(), "All heads") + paragraphs(self._reading())
        return page("Heads, measured", said + table(head, rows))

    def _heading(self) -> Iterator[str]:
        yield f"{len(self.profiles)} heads of {self.model}, watched on {self.pairs} {self.data}"
        whole = self.unablated
        pronoun = f", right pronouns {whole.pronoun:.2f}" if whole.pronoun else ""
        yield (
            f"The whole model: loss {whole.loss:.3f} nats a piece, BLEU {whole.bleu:.1f} "
            f"({whole.translated} greedy translations){pronoun}"
        )
        roles = Counter(card.role or "none found" for card in self.profiles)
        yield f"Roles: {', '.join(f'{name} {count}' for name, count in roles.most_common())}"

    def _grid(self, paper: TerminalStyle) -> Iterator[str]:
        for attention in attention_addresses(self.settings):
            cells = (
                paper.paint(pad(f" {_label(card)}", 11), self._weight(card))
                for card in self.profiles
                if card.address.rpartition(".")[0] == attention
            )
            yield f"{attention:<18}{' '.join(cells)}"

    def _said(self, card: HeadProfile) -> str:
        worth = self.ablation[card.address, "zeroed"]
        even = self.ablation[card.address, "uniform"]
        pronoun = f", pronouns {worth.pronoun:+.2f}" if worth.pronoun else ""
        return (
            f"{card.role or 'no role'}; {_best(card)}; confidence {card.confidence:.2f}, entropy {card.entropy:.2f}; "
            f"without it loss {worth.loss:+.3f}, BLEU {worth.bleu:+.1f}{pronoun}; uniform: loss {even.loss:+.3f}"
        )

    def _reading(self) -> Iterator[str]:
        heads = len(self.profiles)
        yield (
            f"Intervals are for {heads} heads at once (Bonferroni). A role among places is a look there in "
            f"{OFTEN:.0%} of rows; a role among words is {LIFT * 100:.0f} points above the best fixed offset and the "
            f"best head of the same architecture untrained, and above both at the low end; even is {EVEN:.0%} of the "
            "most entropy."
        )
        unmeasured = sorted({name for name in MEANING if not any(_enough(card, name) for card in self.profiles)})
        if unmeasured:
            yield f"Not measured, for want of {FEW} cases or of the truth: {', '.join(unmeasured)}."
        yield "A role says where a head looks, its worth what depends on it. Another training may share it otherwise."

    def _cell(self, card: HeadProfile, rows: tuple[str, ...]) -> str:
        attention, _, head = card.address.rpartition(".")
        x, y = _LEFT + _WIDE * (int(head) - 1), _TOP + _HIGH * rows.index(attention)
        weight = self._weight(card)
        red, green, blue = colour(weight)
        ink = "#000" if weight > 0.55 else "#fff"
        title = escape(f"{card.address}: {self._said(card)}")
        return (
            f'<g><title>{title}</title><rect x="{x}" y="{y}" width="{_WIDE - 2}" height="{_HIGH - 2}" '
            f'fill="#{red:02x}{green:02x}{blue:02x}"/><text x="{x + _WIDE / 2 - 1:.0f}" y="{y + 16}" '
            f'text-anchor="middle" font-size="12" class="on-colour" fill="{ink}">{escape(_label(card))}</text>'
            f'<text x="{x + _WIDE / 2 - 1:.0f}" y="{y + 31}" text-anchor="middle" font-size="11" class="on-colour" '
            f'fill="{ink}">{self.ablation[card.address, "zeroed"].loss.value:+.3f}</text></g>'
        )

    def _weight(self, card: HeadProfile) -> float:
        """The worth as a colour: as a share of the largest."""
        most = max(one.loss.value for (_, way), one in self.ablation.items() if way == "zeroed")
        return max(0.0, self.ablation[card.address, "zeroed"].loss.value) / most if most > 0 else 0.0


def measure_head_report(
    model: "Transformer",
    tokenizer: SentencePieceTokenizer,
    sample: PairSample,
    *,
    name: str,
    counts: AblationCounts | None = None,
) -> Work[HeadReport]:
    """Watch every head, then take out one after the other."""
    cards = yield from measure_heads(model, sample)
    whole, worth = yield from measure_ablation(model, tokenizer, sample, counts or AblationCounts())
    return HeadReport(name, model.settings, len(sample), sample.name, whole, cards, worth)


def _label(card: HeadProfile) -> str:
    return _SHORT.get(card.role or "", card.role or "–")


def _best(card: HeadProfile) -> str:
    """What a head with a role does, or where one without comes nearest to one, with what it is compared to."""
    sure = {name: one for name, one in card.answers.items() if one.found.count >= FEW}
    if not sure:
        return "too few cases"
    name = card.role if card.role in sure else max(sure, key=lambda name: sure[name].lift)
    answer = sure[name]
    rule = "anywhere" if name in (*POSITIONAL, "rare") else "best offset"
    return f"{name} {answer.found:.2f} ({rule} {answer.baseline:.2f}, untrained {answer.untrained:.2f})"


def _enough(card: HeadProfile, name: str) -> bool:
    return name in card.answers and card.answers[name].found.count >= FEW

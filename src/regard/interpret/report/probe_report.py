"""The report of a measurement with probes, as text for a terminal, as an SVG picture and as an HTML page."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from regard.interpret.measure.probe_tasks import TASKS, UNTESTED
from regard.interpret.measure.probes import MIN_GAIN, ProbeMeasurement, ProbeResult
from regard.render.chart import BLUE, GREY, ORANGE, LineChart, LineStyle, heading, legend, text
from regard.render.html_page import HtmlReport, page, paragraphs, picture, table
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle

_COLUMNS, _TOP = 4, 82  # the number of charts side by side, and the y coordinate of the area for all charts

_STYLES = (LineStyle("trained", BLUE), LineStyle("control task", ORANGE, "6 3"), LineStyle("untrained", GREY, "2 3"))


@dataclass(frozen=True)
class ProbeReport(HtmlReport):
    """A report of the accuracy of probes on each layer of one model."""

    model: str
    measurement: ProbeMeasurement

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return {"model": self.model, **self.measurement.to_dict()}

    def lines(self, style: TerminalStyle) -> Iterator[str]:
        """Yield a title, the results of each task with one line per layer, and an explanation."""
        yield style.strong(self._title())
        for probe in self.measurement.probes:
            yield ""
            yield style.strong(_description(probe))
            for layer, accuracy in enumerate(probe.layers):
                bar = style.paint(" " * max(1, round(24 * accuracy.value)), accuracy.value) + " "
                yield (
                    f"  layer {layer}  {accuracy:.2f}  {bar if style.colours else ''}untrained "
                    f"{probe.untrained[layer]:.2f}, lift {probe.lift[layer]:+.2f}, control {_control(probe, layer)}"
                )
        yield ""
        yield from self._explanation()

    def svg(self) -> str:
        """Return an SVG picture with a chart for each task, which compares the model with the baselines."""
        subtitle = f"{self.model}; {self.measurement.sentences} {self.measurement.data}"
        parts = [*heading("What each layer encodes", subtitle, subtitle_y=38), *legend(_STYLES, 58)]
        top = _TOP
        for stack in dict.fromkeys(probe.stack for probe in self.measurement.probes):
            probes = [probe for probe in self.measurement.probes if probe.stack == stack]
            parts.append(text(8, top + 12, stack.capitalize(), font_weight="bold"))
            for number, probe in enumerate(probes):
                row, column = divmod(number, _COLUMNS)
                measured = zip(_STYLES[1:], (probe.control, probe.untrained), strict=True)
                baselines = [(style, values) for style, values in measured if values]
                chart = LineChart(
                    probe.task,
                    probe.layers,
                    [values for _, values in baselines],
                    [_STYLES[0], *(style for style, _ in baselines)],
                )
                parts += chart.elements(40 + column * LineChart.WIDTH, top + 44 + row * LineChart.HEIGHT)
            top += 30 + -(-len(probes) // _COLUMNS) * LineChart.HEIGHT
        return svg(_COLUMNS * LineChart.WIDTH + 50, top + 6, "What each layer encodes", parts)

    def html(self) -> str:
        """Return one self-contained page."""
        columns = ["task and layer", "balanced accuracy", "untrained", "lift", "control", "chance"]
        rows = [
            [
                f"{probe.task}, layer {layer}",
                f"{accuracy:.3f}",
                f"{probe.untrained[layer]:.3f}",
                f"{probe.lift[layer]:+.3f}",
                _control(probe, layer),
                f"{1 / probe.labels:.3f}",
            ]
            for probe in self.measurement.probes
            for layer, accuracy in enumerate(probe.layers)
        ]
        body = paragraphs([self._title()]) + picture(self.svg(), "Charts") + paragraphs(self._explanation())
        body += "<h2>Best layer of each task</h2>" + self._summary()
        return page("Probes", body + "<h2>All layers</h2>" + table(columns, rows))

    def _summary(self) -> str:
        columns = ["task", "stack", "labels", "best layer", "accuracy there", "lift there", "expected layer"]
        rows = []
        for probe in self.measurement.probes:
            best = probe.best_layer
            expected = "–" if probe.expected_layer is None else f"{probe.expected_layer:.1f}"
            numbers = [f"{probe.labels}", f"{best}", f"{probe.layers[best]:.2f}", f"{probe.lift[best]:+.2f}"]
            rows.append([probe.task, probe.stack, *numbers, expected])
        return table(columns, rows)

    def _title(self) -> str:
        return f"What each layer of {self.model} encodes; {self.measurement.sentences} {self.measurement.data}"

    def _explanation(self) -> Iterator[str]:
        yield (
            "Linear probes with balanced accuracy: every label counts equally, so chance is 1 / labels. Trained on two "
            "thirds of the word types, or of the sentences, and tested on the rest. Lift: accuracy minus that of the "
            "same probe on an untrained model, on the same cases; where its interval includes 0, nothing shows that "
            "training put the property there. Control: random labels for each type, tested on types seen in training, "
            "which shows how much the probe can memorise. Intervals are corrected for the number of layers of a task."
        )
        yield (
            "In the decoder, a word is probed at the position whose input is its last token, or at the position that "
            f"predicts its first token. Layer 0 is {self.measurement.layer_0}, with no information about the source."
        )
        measured = {probe.task for probe in self.measurement.probes}
        skipped = "".join(f", {task} (too few cases)" for task in TASKS if task not in measured)
        yield f"Not tested: {UNTESTED}{skipped}."


def _description(probe: ProbeResult) -> str:
    best = probe.best_layer
    expected = (
        f"expected layer {probe.expected_layer:.1f}"
        if probe.expected_layer is not None
        else f"no expected layer (the lift gains less than {MIN_GAIN:.2f} over layer 0, or it may be chance)"
    )
    unit = "new types" if probe.new_types else "new sentences"
    return (
        f"{probe.stack}: {probe.task} ({probe.labels} labels, {unit}): largest lift at layer {best}, "
        f"{probe.lift[best]:+.2f}, accuracy {probe.layers[best]:.2f}; {expected}"
    )


def _control(probe: ProbeResult, layer: int) -> str:
    return f"{probe.control[layer]:.2f}" if probe.control else "–"

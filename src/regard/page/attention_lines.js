// Draws an attention map as lines between words. The width and opacity of a line show the attention weight.
// Selecting a word highlights the lines that start at it.

import { make, makeSvg } from "./dom.js";
import { descriptionOf, labelOf } from "./attention_map.js";

const LINE_HEIGHT = 28; // height of a word in pixels, as in the style sheet
const MAX_ROWS = 60; // with more words than this, only the lines of the selected word are drawn

export function drawLines(frame, map, { row, point }) {
  const rows = make(
    "ol",
    { ariaLabel: "words that attend" },
    ...map.rows.map((mapRow, i) => {
      const button = make("button", { textContent: labelOf(mapRow), title: descriptionOf(mapRow), ariaPressed: String(i === row) });
      button.addEventListener("click", () => point(i));
      return make("li", { className: i === row ? "rows chosen" : "rows" }, button);
    }),
  );
  const columns = make("ol", { ariaLabel: "words attended to" }, ...map.columns.map(({ text }, j) => make("li", { textContent: text, title: `${map.at(row, j).toFixed(3)}` })));
  const height = LINE_HEIGHT * Math.max(map.rows.length, map.columns.length);
  const svg = makeSvg("svg", { viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.style.height = `${height}px`;
  const drawnRows = map.rows.length <= MAX_ROWS ? map.rows.keys() : [row];
  for (const i of drawnRows) {
    map.columns.forEach((_, j) => {
      const weight = map.at(i, j);
      if (weight < (i === row ? 0.01 : 0.08) || map.masked(i, j)) return;
      svg.append(
        makeSvg("line", {
          x1: 0, y1: LINE_HEIGHT * (i + 0.5), x2: 100, y2: LINE_HEIGHT * (j + 0.5), stroke: "currentColor",
          "stroke-width": i === row ? 1 + 5 * weight : 1.5, "stroke-opacity": i === row ? 0.25 + 0.75 * weight : 0.22 * weight,
          "vector-effect": "non-scaling-stroke",
        }),
      );
    });
  }
  const lines = make("div", { className: "lines" }, rows, svg, columns);
  frame.replaceChildren(lines);
}

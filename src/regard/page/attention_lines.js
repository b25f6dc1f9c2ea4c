// A map as lines between words: the stronger the look, the stronger the line. Pressing a word shows its lines alone.

import { make, makeSvg } from "./dom.js";
import { labelOf, sentenceOf } from "./attention_map.js";

const HEIGHT = 28; // of a word, as in the style sheet
const FEW = 60; // rows of which all lines are drawn

export function drawLines(frame, map, { row, point }) {
  const rows = make(
    "ol",
    { ariaLabel: "who looks" },
    ...map.rows.map((one, i) => {
      const button = make("button", { textContent: labelOf(one), title: sentenceOf(one), ariaPressed: String(i === row) });
      button.addEventListener("click", () => point(i));
      return make("li", { className: i === row ? "rows chosen" : "rows" }, button);
    }),
  );
  const columns = make("ol", { ariaLabel: "what is looked at" }, ...map.columns.map((one, j) => make("li", { textContent: one.text, title: `${map.at(row, j).toFixed(3)}` })));
  const tall = HEIGHT * Math.max(map.rows.length, map.columns.length);
  const svg = makeSvg("svg", { viewBox: `0 0 100 ${tall}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.style.height = `${tall}px`;
  const shown = map.rows.length <= FEW ? map.rows.keys() : [row];
  for (const i of shown) {
    map.columns.forEach((_, j) => {
      const weight = map.at(i, j);
      if (weight < (i === row ? 0.01 : 0.08) || map.masked(i, j)) return;
      svg.append(
        makeSvg("line", {
          x1: 0, y1: HEIGHT * (i + 0.5), x2: 100, y2: HEIGHT * (j + 0.5), stroke: "currentColor",
          "stroke-width": i === row ? 1 + 5 * weight : 1.5, "stroke-opacity": i === row ? 0.25 + 0.75 * weight : 0.22 * weight,
          "vector-effect": "non-scaling-stroke",
        }),
      );
    });
  }
  const lines = make("div", { className: "lines" }, rows, svg, columns);
  frame.replaceChildren(lines);
}

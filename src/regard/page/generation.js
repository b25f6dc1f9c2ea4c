// The Generation tab: for each decoding step, the most probable tokens and the attention to the source; below them,
// the tree of the beam search.

import { data, mainAttention } from "./provider.js";
import { byId, fillBars, make, makeSvg } from "./dom.js";
import { rankedRow, selectedMap } from "./attention_map.js";
import { change, listen, state } from "./state.js";

const COLUMN_WIDTH = 104;
const ROW_HEIGHT = 40;

async function drawStep() {
  const { read, token, probability, alternatives } = data.steps[state.step];
  byId("step").value = state.step + 1;
  byId("step-text").textContent = `Step ${state.step + 1} of ${data.steps.length}: after ${read}, generated ${token} (probability ${probability.toFixed(3)}).`;
  fillBars(byId("alternatives"), alternatives.map(([name, value]) => ({ name, value, chosen: name === token })));
  const step = state.step;
  if (mainAttention) {
    const { kind, layer, heads } = mainAttention;
    const map = await selectedMap({ kind, layer: String(layer), head: heads > 1 ? "mean" : "1", units: "tokens" });
    if (step !== state.step) return;
    byId("step-attention-title").textContent = `Attention to the ${mainAttention.keys}: ${heads > 1 ? `mean of ${heads} heads, ` : ""}layer ${layer}`;
    fillBars(byId("step-attention"), rankedRow(map, step).slice(0, 6));
  }
  for (const group of document.querySelectorAll("#beams [data-step]")) group.classList.toggle("now", Number(group.dataset.step) === step);
}

function drawTree() {
  const { steps, best_path: bestPath } = data.search; // bestPath: for each step, the index of the beam that led to the best hypothesis
  const maxBeams = Math.max(...steps.map((beams) => beams.length));
  const svg = makeSvg("svg", { class: "tree", width: COLUMN_WIDTH * (steps.length + 1), height: ROW_HEIGHT * maxBeams + 24, role: "img", "aria-label": "Tree of beams; regard look --trace search lists the same beams" });
  const x = (step) => COLUMN_WIDTH * (step + 1);
  const y = (beam) => ROW_HEIGHT * beam + 30;
  steps.forEach((beams, step) => {
    beams.forEach(([text, parent, total], beam) => {
      const isBest = bestPath[step] === beam;
      const group = makeSvg("g", { class: isBest ? "best" : "", "data-step": step });
      const from = step ? [x(step - 1) + Math.min(COLUMN_WIDTH - 30, 7.5 * [...steps[step - 1][parent][0]].length + 8), y(parent) - 4] : [x(-1) + 30, y(0) - 4];
      const middle = (from[0] + x(step)) / 2; // the curve is horizontal at both ends
      group.append(makeSvg("path", { class: isBest ? "edge best" : "edge", d: `M${from[0]} ${from[1]} C${middle} ${from[1]} ${middle} ${y(beam) - 4} ${x(step) - 4} ${y(beam) - 4}` }));
      const short = [...text].length > 11 ? `${[...text].slice(0, 10).join("")}…` : text;
      const label = makeSvg("text", { x: x(step), y: y(beam) }, short);
      label.append(makeSvg("title", {}, `${text}: log-probability so far ${total.toFixed(3)}`));
      group.append(label, makeSvg("text", { x: x(step), y: y(beam) + 14, class: "log" }, total.toFixed(2)));
      svg.append(group);
    });
  });
  svg.append(makeSvg("text", { x: 0, y: y(0) }, "<s>"));
  return svg;
}

function showBeams() {
  const root = byId("beams");
  if (!data.search) {
    root.append(make("p", { className: "note", textContent: "The target was given, so there was no search." }));
    return;
  }
  root.append(
    make("h3", { textContent: "Beam search" }),
    make("p", { className: "note", textContent: "Each column is one step, best beam first, with the log-probability so far. The thick line leads to the best hypothesis of the search by torch." }),
    make("div", { className: "frame", tabIndex: 0, role: "region", ariaLabel: "Tree of beams" }, drawTree()),
    make("h3", { textContent: "Finished hypotheses, best score first" }),
    make("ol", {}, ...data.search.hypotheses.map(({ text, score, log_probability: logProbability }) => make("li", { textContent: `${text} (score ${score.toFixed(3)}, log-probability ${logProbability.toFixed(3)})` }))),
  );
}

export function showGeneration() {
  const last = data.steps.length - 1;
  byId("step").max = last + 1;
  byId("step-attention-part").hidden = !mainAttention;
  byId("step").addEventListener("input", (event) => change({ step: Number(event.target.value) - 1 }));
  byId("step-back").addEventListener("click", () => change({ step: Math.max(0, state.step - 1) }));
  byId("step-next").addEventListener("click", () => change({ step: Math.min(last, state.step + 1) }));
  listen((changed) => changed.includes("step") && drawStep());
  showBeams();
  return drawStep();
}

// How the text was written: each step with its alternatives and where it looked, and the beams of the search as a tree.

import { data } from "./provider.js";
import { byId, fillBars, make, makeSvg } from "./dom.js";
import { chosenMap, rankedRow } from "./attention_map.js";
import { change, listen, state } from "./state.js";

const ACROSS = 104;
const DOWN = 40;

async function drawStep() {
  const { read, token, probability, alternatives } = data.steps[state.step];
  byId("step").value = state.step + 1;
  byId("step-said").textContent = `Step ${state.step + 1} of ${data.steps.length}: after reading ${read}, it wrote ${token} (probability ${probability.toFixed(3)}).`;
  fillBars(byId("alternatives"), alternatives.map(([name, value]) => ({ name, value, chosen: name === token })));
  const layer = String(data.settings.decoder_layers);
  const step = state.step;
  const map = await chosenMap({ kind: "decoder.cross", layer, head: "mean", units: "pieces" });
  if (step !== state.step) return;
  byId("step-looks-title").textContent = `Where it looked: mean of ${data.settings.heads} heads, layer ${layer}`;
  fillBars(byId("step-looks"), rankedRow(map, step).slice(0, 6));
  for (const group of document.querySelectorAll("#beams [data-step]")) group.classList.toggle("now", Number(group.dataset.step) === step);
}

function drawTree() {
  const { steps, best } = data.search; // best: for each step, the beam that led to the best hypothesis
  const deepest = Math.max(...steps.map((beams) => beams.length));
  const svg = makeSvg("svg", { class: "tree", width: ACROSS * (steps.length + 1), height: DOWN * deepest + 24, role: "img", "aria-label": "Tree of beams; the same beams are listed by regard look --trace search" });
  const x = (step) => ACROSS * (step + 1);
  const y = (beam) => DOWN * beam + 30;
  steps.forEach((beams, step) => {
    beams.forEach(([text, parent, total], beam) => {
      const isBest = best[step] === beam;
      const group = makeSvg("g", { class: isBest ? "best" : "", "data-step": step });
      const from = step ? [x(step - 1) + Math.min(ACROSS - 30, 7.5 * [...steps[step - 1][parent][0]].length + 8), y(parent) - 4] : [x(-1) + 30, y(0) - 4];
      const middle = (from[0] + x(step)) / 2; // the curve leaves and arrives level
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
    root.append(make("p", { className: "note", textContent: "This target was given, so there was no search." }));
    return;
  }
  root.append(
    make("h3", { textContent: "The beams" }),
    make("p", { className: "note", textContent: "Each column is a step, best beam first, with its log-probability so far. The thick line led to the best text of torch's own search." }),
    make("div", { className: "frame", tabIndex: 0, role: "region", ariaLabel: "Tree of beams" }, drawTree()),
    make("h3", { textContent: "Found, best score first" }),
    make("ol", {}, ...data.search.found.map(({ text, score, log }) => make("li", { textContent: `${text} (score ${score.toFixed(3)}, log-probability ${log.toFixed(3)})` }))),
  );
}

export function showWriting() {
  const last = data.steps.length - 1;
  byId("step").max = last + 1;
  byId("step").addEventListener("input", (event) => change({ step: Number(event.target.value) - 1 }));
  byId("step-back").addEventListener("click", () => change({ step: Math.max(0, state.step - 1) }));
  byId("step-on").addEventListener("click", () => change({ step: Math.min(last, state.step + 1) }));
  listen((changed) => changed.includes("step") && drawStep());
  showBeams();
  return drawStep();
}

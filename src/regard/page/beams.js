// The tree of the beam search and its finished hypotheses.

import { make, makeSvg } from "./dom.js";
import { number, t } from "./strings.js";

const COLUMN_WIDTH = 104;
const ROW_HEIGHT = 40;
const LONGEST = 11; // characters of a token

/**
 * Return the drawing of the search and a function that marks a step of it. The translation of a page is given to the
 * model, so that it need not be searched for; then the search is made when it is opened, if the provider can.
 */
export function drawBeams({ facts: { search, is_given: isGiven, texts }, provider }) {
  if (!search && isGiven && !provider.refuses({ target: null })) return drawLater(provider, texts.target);
  if (!search) return { element: make("p", { className: "note", id: "beams", textContent: isGiven ? t("writing.given") : "" }), mark: () => {} };
  return drawSearch(search);
}

function drawLater(provider, translation) {
  const element = make("details", { className: "plain", id: "beams" }, make("summary", { textContent: t("writing.beams") }), make("p", { className: "note", textContent: t("writing.searching") }));
  let drawn = null;
  let now = 0;
  element.addEventListener("toggle", async () => {
    if (!element.open || drawn) return;
    const { search, texts } = await (await provider.look({ target: null })).facts();
    drawn = drawSearch(search);
    drawn.mark(now);
    const other = texts.target === translation ? [] : [make("p", { className: "note", textContent: t("writing.own", { text: texts.target }) })];
    element.replaceChildren(element.firstChild, ...other, ...[...drawn.element.children].slice(1));
  });
  return { element, mark: (step) => { now = step; drawn?.mark(step); } };
}

function drawSearch(search) {
  const tree = drawTree(search);
  const element = make("details", { className: "plain", id: "beams" },
    make("summary", { textContent: t("writing.beams") }),
    make("p", { className: "small", textContent: t("writing.beams.note") }),
    make("div", { className: "frame", tabIndex: 0, role: "region", ariaLabel: t("writing.tree") }, tree),
    make("h3", { textContent: t("writing.finished") }),
    make("ol", { className: "hypotheses" }, ...search.hypotheses.map(({ text, score, log_probability: log }) => make("li", { textContent: t("writing.hypothesis", { text, score: number(score, 3), log: number(log, 3) }) }))));
  const mark = (step) => tree.querySelectorAll("[data-step]").forEach((group) => group.classList.toggle("now", Number(group.dataset.step) === step));
  return { element, mark };
}

function drawTree({ steps, best_path: bestPath }) { // bestPath: for each step, the beam that led to the best hypothesis
  const most = Math.max(...steps.map((beams) => beams.length));
  const svg = makeSvg("svg", { class: "tree", width: COLUMN_WIDTH * (steps.length + 1), height: ROW_HEIGHT * most + 24, role: "img", "aria-label": t("writing.tree") });
  const x = (step) => COLUMN_WIDTH * (step + 1);
  const y = (beam) => ROW_HEIGHT * beam + 30;
  const short = (text) => ([...text].length > LONGEST ? `${[...text].slice(0, LONGEST - 1).join("")}…` : text);
  steps.forEach((beams, step) => {
    beams.forEach(([text, parent, total], beam) => {
      const isBest = bestPath[step] === beam;
      const group = makeSvg("g", { class: isBest ? "best" : "", "data-step": step });
      const from = step ? [x(step - 1) + Math.min(COLUMN_WIDTH - 30, 7.5 * [...steps[step - 1][parent][0]].length + 8), y(parent) - 4] : [30, y(0) - 4];
      const middle = (from[0] + x(step)) / 2; // the curve is horizontal at both ends
      group.append(makeSvg("path", { class: isBest ? "edge best" : "edge", d: `M${from[0]} ${from[1]} C${middle} ${from[1]} ${middle} ${y(beam) - 4} ${x(step) - 4} ${y(beam) - 4}` }));
      const label = makeSvg("text", { x: x(step), y: y(beam) }, short(text));
      label.append(makeSvg("title", {}, t("writing.total", { token: text, log: number(total, 3) })));
      group.append(label, makeSvg("text", { x: x(step), y: y(beam) + 14, class: "log" }, number(total)));
      svg.append(group);
    });
  });
  svg.append(makeSvg("text", { x: 0, y: y(0) }, "<s>"));
  return svg;
}

// The norms of the states of recurrent layers over the positions: a chart for each layer, a line for each state.

import { make, makeSvg } from "./dom.js";
import { number, t } from "./strings.js";

const HEIGHT = 90;
const LEFT = 44;

export function drawNorms({ norms, source, written }) {
  const layers = [...new Set(norms.map(({ layer }) => layer))];
  const charts = layers.map((layer) => {
    const states = norms.filter((state) => state.layer === layer);
    const tokens = states[0].side === "source" ? source.tokens : written.tokens;
    return make("figure", {}, make("figcaption", { className: "small", textContent: layer }), drawChart(layer, states, tokens));
  });
  return make("div", { className: "frame norms", role: "region", ariaLabel: t("states.norms"), tabIndex: 0 }, ...charts);
}

function drawChart(layer, states, tokens) {
  const spacing = Math.max(26, Math.min(64, 900 / tokens.length));
  const most = Math.max(...states.flatMap(({ norms }) => norms)) || 1;
  const svg = makeSvg("svg", { class: "chart", width: LEFT + spacing * tokens.length + 40, height: HEIGHT + 72, role: "img", "aria-label": `${t("states.norms")}: ${layer}` });
  const x = (i) => LEFT + spacing * (i + 0.5);
  const y = (value) => 8 + HEIGHT * (1 - value / most);
  svg.append(makeSvg("path", { class: "axis", d: `M${LEFT} 8V${8 + HEIGHT}H${LEFT + spacing * tokens.length}` }));
  for (const value of [0, most]) svg.append(makeSvg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value, 1)));
  for (const { state, backwards, norms } of states) {
    const line = makeSvg("polyline", { points: norms.map((value, i) => `${x(i)},${y(value).toFixed(1)}`).join(" "), class: `${backwards ? "backwards" : "forwards"} ${state}` });
    line.append(makeSvg("title", {}, `${layer} ${state}`));
    svg.append(line);
  }
  tokens.forEach((token, i) => svg.append(makeSvg("text", { transform: `translate(${x(i) + 3} ${HEIGHT + 20}) rotate(40)` }, [...token].length > 12 ? `${[...token].slice(0, 11).join("")}…` : token)));
  return svg;
}

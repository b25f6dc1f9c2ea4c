// A picture of a vector: one bar for each number, up and filled above zero, down and hollow below.

import { makeSvg } from "./dom.js";

export const HEIGHT = 44; // in units of the picture

/** Draw a vector; a number of the size `most` has the largest bar. */
export function drawVector(vector, most) {
  const middle = HEIGHT / 2;
  const svg = makeSvg("svg", { class: "vector", viewBox: `0 0 ${4 * vector.length} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  let [up, down] = ["", ""];
  vector.forEach((value, i) => {
    const height = (Math.max(0.4, Math.min(1, Math.abs(value) / most) * (middle - 1)) * (value < 0 ? 1 : -1)).toFixed(1);
    const bar = `M${4 * i + 0.5} ${middle}v${height}h2.8v${-height}z`;
    if (value < 0) down += bar;
    else up += bar;
  });
  svg.append(makeSvg("path", { class: "axis", d: `M0 ${middle}H${4 * vector.length}` }), makeSvg("path", { class: "positive", d: up }), makeSvg("path", { class: "negative", d: down }));
  return svg;
}

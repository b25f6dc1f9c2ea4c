// The Positions tab: the positional encoding, with a row for each position and a column for each dimension.

import { makeImage } from "./colour_scale.js";
import { data, positionBytes } from "./provider.js";
import { byId, makeCanvas } from "./dom.js";

export async function showPositions() {
  const { rows, width, max_abs: maxAbs, kind } = data.positions;
  const explanation = kind === "sinusoid"
    ? "Each pair of dimensions holds a sine and a cosine, with a lower frequency than the pair before it (section 3.5 of the paper)."
    : "This encoding was learned during training.";
  byId("positions-text").textContent = `The first ${rows} positions (from top to bottom) with ${width} dimensions each, from −${maxAbs.toFixed(2)} (dark) to ${maxAbs.toFixed(2)} (yellow). ${explanation} Stored in steps of ${((2 * maxAbs) / 255).toFixed(4)}.`;
  const numbers = await positionBytes();
  const cellHeight = Math.max(2, Math.min(16, Math.floor(480 / rows)));
  const cellWidth = Math.max(2, Math.min(8, Math.floor(1000 / width)));
  const [canvas, context] = makeCanvas(cellWidth * width, cellHeight * rows);
  context.imageSmoothingEnabled = false;
  context.drawImage(makeImage(numbers, rows, width), 0, 0, cellWidth * width, cellHeight * rows);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Picture of ${rows} positions with ${width} dimensions`);
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / cellHeight)));
    const column = Math.min(width - 1, Math.max(0, Math.floor((event.clientX - box.left) / cellWidth)));
    const value = (numbers[row * width + column] / 255) * 2 * maxAbs - maxAbs;
    byId("positions-readout").textContent = `position ${row}, dimension ${column + 1}: ${value.toFixed(2)}`;
  });
  const frame = byId("positions-frame");
  frame.replaceChildren(canvas);
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", "Positional encoding");
}

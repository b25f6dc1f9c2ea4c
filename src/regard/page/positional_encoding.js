// The table that tells attention where each piece stands: a row for a position, a column for each number of the width.

import { picture } from "./colour_scale.js";
import { data, positionBytes } from "./provider.js";
import { byId, makeCanvas } from "./dom.js";

export async function showPositions() {
  const { rows, width, most, kind } = data.positions;
  const said = kind === "sinusoid"
    ? "The first number of each pair is a sine, the second a cosine, and each pair turns slower than the one before it (section 3.5 of the paper)."
    : "This table was learned.";
  byId("positions-said").textContent = `The first ${rows} positions (from top to bottom) of ${width} numbers each, from −${most.toFixed(2)} (dark) to ${most.toFixed(2)} (yellow). ${said} Kept here in steps of ${((2 * most) / 255).toFixed(4)}.`;
  const numbers = await positionBytes();
  const down = Math.max(2, Math.min(16, Math.floor(480 / rows)));
  const across = Math.max(2, Math.min(8, Math.floor(1000 / width)));
  const [canvas, context] = makeCanvas(across * width, down * rows);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture(numbers, rows, width), 0, 0, across * width, down * rows);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Picture of ${rows} positions by ${width} numbers`);
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / down)));
    const column = Math.min(width - 1, Math.max(0, Math.floor((event.clientX - box.left) / across)));
    const value = (numbers[row * width + column] / 255) * 2 * most - most;
    byId("positions-readout").textContent = `position ${row}, number ${column + 1}: ${value.toFixed(2)}`;
  });
  const frame = byId("positions-frame");
  frame.replaceChildren(canvas);
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", "Table of positions");
}

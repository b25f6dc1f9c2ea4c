// Draws an attention map as coloured cells. The mouse or the arrow keys select a cell; masked cells are hatched.

import { makeImage } from "./colour_scale.js";
import { make, makeCanvas } from "./dom.js";
import { labelOf } from "./attention_map.js";

const FONT = "13px system-ui, sans-serif";
const MAX_LABEL_WIDTH = 190;
const MAX_LABELLED = 150; // a map with more columns than this has no labels

function clipped(context, text, width) {
  let shown = [...text];
  if (context.measureText(text).width <= width) return text;
  while (shown.length > 1 && context.measureText(`${shown.join("")}…`).width > width) shown.pop();
  return `${shown.join("")}…`;
}

function labelWidth(labels, maxWidth) {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.font = FONT;
  return Math.min(maxWidth, Math.max(...labels.map((label) => context.measureText(label).width)));
}

/** Draw a map in a frame. Moving to a cell calls `point(row, column)`; a click or Enter calls `pick(row, column)`. */
export function drawHeatmap(frame, map, { row, column, point, pick }) {
  const rows = map.rows.length;
  const columns = map.columns.length;
  const available = frame.parentElement.clientWidth - 26;
  // Labelled cells are large, and the frame scrolls if necessary. A map too large for labels has small cells instead.
  const labelled = columns <= MAX_LABELLED;
  const left = labelled ? labelWidth(map.rows.map(labelOf), Math.min(MAX_LABEL_WIDTH, available * 0.4)) + 10 : 8;
  const natural = Math.floor((Math.min(available, 900) - left) / columns);
  const cell = labelled ? Math.max(13, Math.min(34, natural)) : Math.max(2, natural);
  const top = labelled ? labelWidth(map.columns.map(({ text }) => text), 120) * 0.72 + 16 : 8;
  const right = labelled ? 40 : 8;
  const [canvas, context] = makeCanvas(left + cell * columns + right, top + cell * rows + 4);
  const colour = getComputedStyle(frame).color;
  context.font = FONT;
  context.fillStyle = colour;
  if (labelled) {
    map.rows.forEach((mapRow, i) => {
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillText(clipped(context, labelOf(mapRow), left - 8), left - 6, top + cell * (i + 0.5));
    });
    map.columns.forEach((mapColumn, j) => {
      context.save();
      context.translate(left + cell * (j + 0.55), top - 6);
      context.rotate(-Math.PI / 4);
      context.textAlign = "left";
      context.fillText(clipped(context, mapColumn.text, 120), 0, 0);
      context.restore();
    });
  }
  const numbers = Uint8Array.from(map.values, (value) => Math.round(255 * Math.min(1, value)));
  context.imageSmoothingEnabled = false;
  context.drawImage(makeImage(numbers, rows, columns, map.masked), left, top, cell * columns, cell * rows);
  hatch(context, map, left, top, cell, colour);
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `Map of ${rows} rows and ${columns} columns. Arrow keys move from cell to cell; Enter shows the arithmetic.`);
  canvas.id = "map";
  const cursor = make("div", { className: "cursor" });
  const move = (i, j) => {
    row = Math.max(0, Math.min(rows - 1, i));
    column = Math.max(0, Math.min(columns - 1, j));
    cursor.style.left = `${canvas.offsetLeft + left + cell * column - 2}px`;
    cursor.style.top = `${canvas.offsetTop + top + cell * row - 2}px`;
    cursor.style.width = `${cell + 4}px`;
    cursor.style.height = `${cell + 4}px`;
    point(row, column);
  };
  const cellAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const i = Math.floor((event.clientY - box.top - top) / cell);
    const j = Math.floor((event.clientX - box.left - left) / cell);
    return i >= 0 && i < rows && j >= 0 && j < columns ? [i, j] : null;
  };
  canvas.addEventListener("mousemove", (event) => cellAt(event) && move(...cellAt(event)));
  canvas.addEventListener("click", (event) => {
    if (!cellAt(event)) return;
    move(...cellAt(event));
    pick(row, column);
  });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (steps) move(row + steps[0], column + steps[1]);
    else if (event.key === "Enter") pick(row, column);
    else return;
    event.preventDefault();
  });
  canvas.dataset.geometry = JSON.stringify({ left, top, cell });
  frame.replaceChildren(canvas, cursor);
  move(row, column);
}

function hatch(context, map, left, top, cell, colour) {
  context.strokeStyle = colour;
  context.globalAlpha = 0.25;
  context.beginPath();
  for (let i = 0; i < map.rows.length; i++) {
    for (let j = i; j < map.columns.length; j++) {
      if (!map.masked(i, j)) continue;
      context.moveTo(left + cell * j, top + cell * (i + 1));
      context.lineTo(left + cell * (j + 1), top + cell * i);
    }
  }
  context.stroke();
  context.globalAlpha = 1;
}

// The Attention tab: one large map with its controls, a list of what the selected word attends to, and a small map of
// every head.

import { PALETTE } from "./colour_scale.js";
import { KINDS, attentionAddress, attentions, data, headAddresses, headNumbers, ofKind } from "./provider.js";
import { byId, fillBars, fillSelect } from "./dom.js";
import { drawHeatmap } from "./heatmap.js";
import { drawLines } from "./attention_lines.js";
import { descriptionOf, rankedRow, selectedMap } from "./attention_map.js";
import { change, listen, state } from "./state.js";
import { showThumbnails } from "./thumbnails.js";

const LISTED = 12; // maximum number of words in the list of what a word attends to

let drawCount = 0;

function fillControls() {
  const layers = attentions.filter((attention) => attention.kind === state.kind).map((attention) => String(attention.layer));
  if (!layers.includes(state.layer) && state.layer !== "all") state.layer = layers.at(-1);
  const heads = headNumbers(ofKind(state.kind)).map((head) => [head, head]);
  const reductions = heads.length > 1 || layers.length > 1 ? [["mean", "mean of all"], ["max", "maximum of all"]] : [];
  const rollout = data.all_layer_reductions.includes("rollout") ? [["rollout", "rollout"]] : [];
  const choices = state.layer === "all" ? [...reductions, ...rollout] : [...heads, ...reductions];
  if (!choices.some(([value]) => value === state.head)) state.head = reductions.length ? "mean" : "1";
  fillSelect(byId("kind"), Object.entries(KINDS), state.kind);
  fillSelect(byId("layer"), [...layers.map((layer) => [layer, layer]), ...(layers.length > 1 ? [["all", "all layers"]] : [])], state.layer);
  fillSelect(byId("head"), choices, state.head);
  byId("form").value = state.form;
  byId("units").value = state.units;
}

async function drawMap() {
  const current = ++drawCount;
  fillControls();
  const map = await selectedMap();
  if (current !== drawCount) return; // the selection changed while the map was unpacked
  state.row = Math.min(state.row, map.rows.length - 1);
  state.column = Math.min(state.column, map.columns.length - 1);
  byId("map-title").textContent = map.title;
  const frame = byId("map-frame");
  if (state.form === "lines") {
    drawLines(frame, map, { row: state.row, point: (row) => change({ row }) });
    showRow(map, state.row);
    byId("readout").textContent = "Select a word on the left to see what it attends to.";
  } else {
    drawHeatmap(frame, map, { row: state.row, column: state.column, point: (row, column) => showCell(map, row, column), pick: () => openArithmetic(map) });
  }
  byId("open-arithmetic").onclick = () => openArithmetic(map);
  document.body.dataset.drawn = `${current}`;
}

function showCell(map, row, column) {
  state.row = row;
  state.column = column;
  const weight = map.masked(row, column) ? "masked, because it comes later" : map.at(row, column).toFixed(3);
  byId("readout").textContent = `${descriptionOf(map.rows[row])} → ${map.columns[column].text}: ${weight}`;
  showRow(map, row);
}

function showRow(map, row) {
  byId("row-title").textContent = `Attention weights: ${descriptionOf(map.rows[row])}`;
  fillBars(byId("row-list"), rankedRow(map, row).slice(0, LISTED));
}

function openArithmetic(map) {
  const head = Number(state.head) ? `${attentionAddress(state.kind, state.layer)}.${state.head}` : state.arithmeticHead;
  change({ arithmeticHead: head, arithmeticRow: map.rows[state.row].begin, arithmeticKey: map.columns[state.column].begin });
  byId("tab-arithmetic").click();
}

export function showAttention() {
  for (const name of ["kind", "layer", "head", "form", "units"]) {
    byId(name).addEventListener("change", (event) => change({ [name]: event.target.value, ...(name === "kind" || name === "units" ? { row: 0, column: 0 } : {}) }));
  }
  const scale = byId("scale").getContext("2d");
  PALETTE.forEach((colour, i) => {
    scale.fillStyle = `rgb(${colour.join(" ")})`;
    scale.fillRect((i * 160) / 256, 0, 1, 12);
  });
  byId("rounding").textContent = "Maps store weights in steps of 1/255: the weight of a token is within 0.002 of the computed weight. The numbers under Arithmetic are exact (32 bits).";
  if (headAddresses.length > 1) showThumbnails(byId("thumbnails"));
  else byId("all-heads").hidden = true;
  const redraws = new Set(["kind", "layer", "head", "form", "units", "row"]);
  listen((changed) => changed.some((name) => redraws.has(name)) && drawMap());
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) drawMap();
    width = window.innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMap);
  return drawMap();
}

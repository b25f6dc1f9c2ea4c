// All layers and heads of one kind of attention as small maps. The band is the row of the chosen word, and the caption
// is the word where it looks most, so that the grid can be read as text.

import { drawBand, drawDots } from "./dots.js";
import { make, makeCanvas, makeSegments, makeWord, plain, themeColours } from "./dom.js";
import { number, rich, t } from "./strings.js";

const SIZE = 84; // of a small map in pixels
const MOST_COLUMNS = 8;
const AT_ONCE = 100_000; // weights; with more than this, only the maps in view are drawn

/**
 * Show the heads of `layers` in `root`. `choose(map)` is called for a click, and `setMode`, if the effects of removing
 * heads are known, with "look" or "remove": what the captions show.
 */
export function makeHeadGrid(root, inspection, layers, choose, setMode) {
  const count = layers.reduce((sum, { heads }) => sum + heads, 0);
  const perRow = Math.min(MOST_COLUMNS, Math.max(...layers.map(({ heads }) => heads)));
  const title = make("h3", { textContent: t("heads.title", { count }) });
  const note = make("p", { className: "small" });
  const grid = make("div", { className: "head-grid", id: "head-grid" });
  grid.style.setProperty("--heads", perRow);
  grid.append(make("span", { className: "corner" }), ...Array.from({ length: perRow }, (_, i) => make("span", { className: "column-name", textContent: t("heads.head", { head: i + 1 }) })));
  const tiles = layers.flatMap((attention) => {
    const maps = [...inspection.maps.values()].filter((map) => map.head && map.attention === attention);
    const made = maps.map((map) => makeTile(map, choose));
    made.forEach(({ button }, i) => {
      if (i % perRow === 0) grid.append(make("span", { className: "row-name", textContent: i ? "" : t("heads.layer", { layer: attention.layer }) }));
      grid.append(button);
    });
    return made;
  });
  grid.addEventListener("keydown", (event) => moveFocus(event, tiles, perRow));
  const [modes, markMode] = makeSegments(t("heads.mode"), [["look", t("heads.mode.look")], ["remove", t("heads.mode.remove")]], setMode);
  modes.id = "heads-mode";
  root.replaceChildren(make("div", { className: "heading" }, make("div", {}, title, note), ...(setMode ? [modes] : [])), grid);

  const visible = new Set();
  let last = null;
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) visible.add(target);
      else visible.delete(target);
    }
    if (last) paint(last);
  });
  tiles.forEach(({ button }) => observer.observe(button));

  let colours = themeColours(grid);
  function paint({ tables, row }) {
    const isSmall = tiles.length * tables[0].values.length <= AT_ONCE;
    tiles.forEach((tile, i) => { if (isSmall || visible.has(tile.button)) drawTile(tile, tables[i], row, colours); });
  }
  return {
    tiles,
    refreshColours() {
      colours = themeColours(grid);
      for (const tile of tiles) tile.background = null;
    },
    /** Draw the tables of all heads, with the row of one word, and caption each. */
    draw({ tables, row, address, gone, removals, note: text }) {
      const to = tables[tiles.findIndex(({ map }) => map.address === address)]?.top(row);
      markMode(removals || text ? "remove" : "look");
      if (text) note.replaceChildren(text);
      else if (removals) note.replaceChildren(...rich("heads.note.remove", { word: makeWord(plain(removals.token)), before: number(removals.before) }));
      else note.replaceChildren(...rich("heads.note", { word: makeWord(tables[0].rows[row].text) }));
      tiles.forEach((tile, i) => {
        const isChosen = tile.map.address === address;
        const top = tables[i].top(row);
        if (removals) captionRemoval(tile, removals);
        else captionLook(tile, tables[i], row, top);
        tile.button.setAttribute("aria-pressed", String(isChosen));
        tile.button.tabIndex = isChosen || (to === undefined && i === 0) ? 0 : -1;
        tile.button.classList.toggle("same", !removals && top === to);
        tile.button.classList.toggle("gone", tile.map.address === gone);
      });
      last = { tables, row };
      paint(last);
    },
  };
}

function captionLook({ map, button, word, number: weight }, table, row, top) {
  const values = { to: table.columns[top].text, weight: number(table.at(row, top)) };
  word.textContent = values.to;
  weight.textContent = values.weight;
  button.classList.remove("changed");
  button.setAttribute("aria-label", t("heads.label", { layer: map.layer, head: map.head, ...values }));
}

function captionRemoval({ map, button, word, number: weight }, { token, of }) {
  const { after, changes } = of.get(map.address);
  word.textContent = changes ? "≠" : "";
  weight.textContent = number(after);
  button.classList.toggle("changed", changes);
  const label = t("heads.label.remove", { layer: map.layer, head: map.head, word: plain(token), after: number(after) });
  button.setAttribute("aria-label", changes ? label + t("heads.label.changed") : label);
}

function makeTile(map, choose) {
  const [canvas, context] = makeCanvas(SIZE, SIZE);
  canvas.style.width = "100%";
  canvas.style.height = "auto";
  const word = make("bdi", {});
  const weight = make("span", {});
  const button = make("button", { type: "button", className: "tile", title: map.address }, canvas, make("span", { className: "caption", ariaHidden: "true" }, word, weight));
  button.addEventListener("click", () => choose(map));
  return { map, button, context, word, number: weight, background: null };
}

function drawTile(tile, table, row, colours) {
  const { context } = tile;
  const ratio = window.devicePixelRatio || 1;
  const geometry = { left: 0, top: 0, cellWidth: SIZE / table.columns.length, cellHeight: SIZE / table.rows.length };
  if (tile.background?.table !== table) {
    // The dots of all rows are drawn once; pointing at a word only redraws the row of the word.
    const canvas = new OffscreenCanvas(SIZE * ratio, SIZE * ratio);
    const behind = canvas.getContext("2d");
    behind.scale(ratio, ratio);
    drawDots(behind, table, { ...geometry, rows: table.rows.keys(), colour: colours.quiet });
    tile.background = { table, canvas };
  }
  context.clearRect(0, 0, SIZE, SIZE);
  const height = Math.max(geometry.cellHeight, 3);
  const top = geometry.cellHeight * (row + 0.5) - height / 2;
  context.drawImage(tile.background.canvas, 0, 0, SIZE, SIZE);
  context.clearRect(0, top, SIZE, height);
  drawBand(context, { left: 0, top, width: SIZE, height, colour: colours["look-soft"] });
  drawDots(context, table, { ...geometry, rows: [row], colour: colours.look });
}

function moveFocus(event, tiles, perRow) {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: perRow, ArrowUp: -perRow }[event.key];
  const at = tiles.findIndex(({ button }) => button === event.target);
  if (!step || at < 0) return;
  event.preventDefault();
  tiles[at + step]?.button.focus();
}

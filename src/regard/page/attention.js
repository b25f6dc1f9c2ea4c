// The sentence with its finding, all heads, and one enlarged map: three drawings of the same selection.

import { announce, fillBars, fillSelect, make, makeSelect, makeWord } from "./dom.js";
import { showFinding } from "./finding.js";
import { makeHeadGrid } from "./head_grid.js";
import { capital, kindName, whereOf } from "./inspection.js";
import { cellText, makeMap } from "./map.js";
import { makeRemovalPart } from "./removal_part.js";
import { makeSentence } from "./sentence.js";
import { rich, t } from "./strings.js";

const FIRST = 6; // words in the ranking before the rest is asked for

/** Show the three drawings; `between()` adds what is to be shown between the sentence and the heads. */
export async function showAttention(add, context, between) {
  const { inspection, state, change, listen, row, column, signal } = context;
  const { facts } = inspection;
  let parts = null; // what is shown: the tables, and the drawings of the present kind and units
  const hint = make("p", { className: "small" });
  const sentenceHost = make("div", { className: "sentence", id: "sentence" });
  const finding = make("p", { className: "finding", id: "finding" });
  const honest = make("p", { className: "note honest", id: "honest" });
  const removal = await makeRemovalPart(context, () => parts && draw());
  add(make("div", { className: "card stage" }, hint, sentenceHost, make("div", { className: "finding-row" }, finding, removal.controls), honest, removal.panel));

  between();

  const gridHost = make("section", { id: "all-heads" });
  const mapTitle = make("h3", { id: "map-title" });
  const [mapLabel, mapSelect] = makeSelect("map-choice", t("map.choose"), (address) => change({ address, column: null, hover: null }));
  const mapFrame = make("div", { className: "frame" });
  const readout = make("p", { id: "readout", className: "readout" });
  const ranking = make("ol", { id: "row-list", className: "bars" });
  const rankingTitle = make("h4", {});
  const more = make("button", { type: "button", className: "button plain" });
  more.addEventListener("click", () => { allShown = true; draw(); });
  const mapPart = make("section", { className: "map-part", ariaLabel: t("map.choose") },
    make("div", { className: "heading" }, mapTitle, mapLabel), make("p", { className: "small", textContent: t("map.note") }), mapFrame, readout, rankingTitle, ranking, more);
  const two = add(make("div", { className: "two" }, gridHost, mapPart));

  let allShown = false;
  const select = (cell) => change({ column: null, ...cell, hover: null });
  const point = (cell) => {
    if (cell?.row === state.hover?.row && cell?.column === state.hover?.column) return;
    change({ hover: cell && (cell.row !== state.row || cell.column !== undefined) ? { column: null, ...cell } : null });
  };

  /** Get the tables of the selection; the drawings are made again only if the words, the map or the heads change. */
  async function load() {
    const map = inspection.maps.get(state.address);
    const [address, units] = [state.address, state.units];
    const kindChanged = parts?.map.attention.kind !== map.attention.kind || parts.units !== units;
    const layers = inspection.kinds.find(([{ kind }]) => kind === map.attention.kind);
    const all = [...inspection.maps.values()].filter((one) => one.head && layers.includes(one.attention));
    const [table, ...tables] = await Promise.all([map, ...all].map((one) => inspection.table(one.address, units)));
    const before = await removal.tableBefore(address, units, table);
    if (address !== state.address || units !== state.units) return false; // the reader was faster
    state.row = Math.min(state.row, table.rows.length - 1);
    parts = { ...parts, map, units, layers, table, tables, before };
    if (kindChanged) {
      hint.textContent = hintOf(map.attention);
      fillSelect(mapSelect, mapOptions(inspection, map.attention.kind), address);
      const isOnly = all.length < 2;
      gridHost.hidden = isOnly;
      mapLabel.hidden = isOnly;
      two.classList.toggle("single", isOnly);
      parts.grid = isOnly ? null : makeHeadGrid(gridHost, inspection, layers, (chosen) => change({ address: chosen.address, column: null, hover: null }), facts.has_effects && ((mode) => change({ mode })));
    }
    makeDrawings();
    return true;
  }

  function makeDrawings() {
    const language = facts.languages[parts.map.attention.keys === "source" ? 0 : 1];
    parts.sentence = makeSentence(sentenceHost, parts.before ?? parts.table, { select: (i) => select({ row: i }), point: (i) => point(i === null ? null : { row: i }), language });
    parts.drawing = makeMap(mapFrame, parts.table, { point, pick: select, open: openArithmetic });
    mapTitle.textContent = capital(`${t("map.title", { where: whereOf(parts.map) })} · ${kindName(facts, parts.map.attention)}`);
    mapSelect.value = state.address;
  }

  function draw() {
    const { map, table, tables, sentence, drawing, grid } = parts;
    const i = row();
    const changed = removal.draw(map, table, state.row);
    sentence.draw(i, { chosen: state.row, changed });
    const note = state.opened && !state.hover && !changed ? t(`opened.${state.opened}`) : null;
    showFinding(finding, honest, { map, table, heads: tables, row: i, changed: removal.finding(map, table), note, canRemove: removal.isOffered() });
    grid?.draw({ tables, row: i, address: map.address, gone: changed ? map.address : facts.without, ...removal.captions(map) });
    const cell = { row: i, column: column() ?? table.top(i) };
    drawing.draw(cell);
    readout.textContent = cellText(table, cell);
    rankingTitle.replaceChildren(...rich("map.ranking", { word: makeWord(table.rows[i].description) }));
    const ranked = table.ranked(i);
    fillBars(ranking, ranked.slice(0, allShown ? undefined : FIRST).map((j) => ({ name: table.columns[j].text, value: table.at(i, j), chosen: j === cell.column })), 3);
    more.hidden = allShown || ranked.length <= FIRST;
    more.textContent = t("map.more", { count: ranked.length });
    document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
  }

  await load();
  draw();
  listen(async (changed) => {
    if (changed.some((name) => ["address", "units", "row", "column"].includes(name))) state.opened = null;
    if (changed.includes("opened") && parts.map.address === state.address) draw();
    if (changed.includes("address") || changed.includes("units")) {
      if (!(await load())) return;
      draw();
    } else if (changed.some((name) => ["row", "column", "hover", "removed", "mode"].includes(name))) {
      draw();
      if (changed.includes("removed") || changed.includes("mode")) removal.load();
      if (changed.includes("column") && state.column !== null) announce(readout.textContent);
    }
  });
  let width = sentenceHost.clientWidth;
  const observer = new ResizeObserver(() => {
    if (sentenceHost.clientWidth === width) return;
    width = sentenceHost.clientWidth;
    makeDrawings();
    draw();
  });
  observer.observe(sentenceHost);
  signal.addEventListener("abort", () => observer.disconnect());
  const recolour = () => { parts.grid?.refreshColours(); draw(); };
  document.addEventListener("themechange", recolour, { signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour, { signal });
}

function hintOf({ queries, causal }) {
  const hints = [matchMedia("(hover: none)").matches ? "hint.touch" : "hint.point", ...(queries === "target" ? ["hint.decoder"] : []), ...(causal ? ["hint.causal"] : [])];
  return hints.map((key) => t(key)).join(" ");
}

function mapOptions(inspection, kind) {
  const maps = [...inspection.maps.values()].filter(({ attention }) => attention.kind === kind);
  const name = ({ head, reduction }) => (head ? t("map.head", { head }) : t(`map.${reduction}`));
  const groups = [...new Set(maps.map(({ layer }) => layer))];
  return groups.map((layer) => ({
    group: layer === null ? t("map.all") : t("map.layer", { layer }),
    options: maps.filter((map) => map.layer === layer).map((map) => [map.address, name(map)]),
  }));
}

function openArithmetic() {
  const part = document.getElementById("arithmetic");
  part.open = true;
  part.querySelector("summary").focus();
}

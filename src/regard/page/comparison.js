// Two texts side by side: the same head and word in both, and what differs. The first has its arcs above and blue, the
// second below and orange.

import { make, makeButton, makeWord, plain } from "./dom.js";
import { commonPairs, markDifferences, wordDifferences } from "./differences.js";
import { whereOf } from "./inspection.js";
import { makeSentence } from "./sentence.js";
import { number, rich, t } from "./strings.js";

const MOST_HEIGHT = 130; // of an arc
const MOST_CHANGES = 2; // of the translation, in the finding
const SHOWN = 5; // rows of a list
const LEAST = 0.005; // smaller differences are not listed

/** Which heads and words can be compared: maps that both inspections have. */
export const canCompare = (first, second) => Boolean(first.mainAttention) && first.maps.size === second.maps.size && [...first.maps.keys()].every((address) => second.maps.has(address));

/** Show two inspections in `root`; `leave()` ends the comparison. */
export async function showComparison(root, { inspection, state, change, listen }, other, leave) {
  const stage = make("div", { className: "card stage", id: "comparison" });
  const below = make("div", { className: "halves" });
  root.replaceChildren(make("div", { className: "comparison-top" }, make("h3", { textContent: t("compare.title") }), makeButton(t("compare.stop"), "", leave, { id: "compare-stop" })), stage, below);
  let effects = null; // of removing heads in the second text; they come later
  let latest = 0;

  async function draw() {
    const turn = (latest += 1);
    const map = inspection.maps.get(state.address);
    const heads = [...inspection.maps.values()].filter((one) => one.head && one.attention.kind === map.attention.kind);
    const tablesOf = (one) => Promise.all([state.address, ...heads.map(({ address }) => address)].map((address) => one.table(address, "words")));
    const [[first, ...firsts], [second, ...seconds]] = await Promise.all([tablesOf(inspection), tablesOf(other)]);
    if (turn !== latest) return;
    const rows = matchOf(first.rows, second.rows);
    const columns = matchOf(first.columns, second.columns);
    const row = Math.min(state.row, first.rows.length - 1);
    const match = rows.get(row) ?? Math.min(row, second.rows.length - 1);
    const pair = { first, second, row, match, columns };
    drawStage(stage, inspection, other, map, pair, change);
    const moves = heads.map((head, i) => ({ head, moved: movedBetween({ ...pair, first: firsts[i], second: seconds[i] }) }));
    below.replaceChildren(drawChanges(map, pair), drawHeads(moves, map, effects, [inspection.facts.steps, other.facts.steps], change));
  }

  await draw();
  if (other.facts.has_effects) other.provider.effects().then((found) => { effects = found; return stage.isConnected && draw(); }, () => {});
  listen((changed) => changed.some((name) => ["address", "row"].includes(name)) && stage.isConnected && draw());
}

/** Pair the words of two texts: those of the longest common sequence, and the single words that differ between them. */
function matchOf(first, second) {
  const texts = (units) => units.map(({ text }) => text);
  const pairs = [...commonPairs(texts(first), texts(second)), [first.length, second.length]];
  const match = new Map();
  let [i, j] = [0, 0];
  for (const [a, b] of pairs) {
    if (a - i === b - j) while (i < a) match.set(i++, j++);
    if (a < first.length) match.set(a, b);
    [i, j] = [a + 1, b + 1];
  }
  return match;
}

function drawStage(stage, inspection, other, map, { first, second, row, match, columns }, change) {
  const translations = wordDifferences(inspection.facts.texts.target, other.facts.texts.target);
  const line = (words, style) => make("p", { className: "translation", dir: "auto" }, ...markDifferences(words, style));
  const [above, under] = [make("div", { className: "sentence" }), make("div", { className: "sentence below" })];
  const finding = make("p", { className: "finding", id: "comparison-finding" });
  const honest = make("p", { className: "note" });
  stage.replaceChildren(line(translations.first, "look"), above, under, line(translations.second, "diff"), make("div", { className: "finding-row" }, finding), honest);
  const options = { select: (i) => change({ row: i, column: null, hover: null }), point: () => {}, size: 34, most: MOST_HEIGHT };
  const differing = (units, known) => units.map((_, i) => i).filter((i) => !known.has(i));
  const same = new Set([...columns].filter(([i, j]) => first.columns[i].text === second.columns[j].text).map(([i]) => i));
  const sameOthers = new Set([...columns].filter(([i, j]) => first.columns[i].text === second.columns[j].text).map(([, j]) => j));
  const upper = makeSentence(above, first, options);
  upper.draw(row, { marks: differing(first.columns, same) });
  const back = new Map([...matchOf(first.rows, second.rows)].map(([i, j]) => [j, i]));
  const lower = makeSentence(under, second, { ...options, select: (j) => options.select(back.get(j) ?? row), below: true, left: upper.left() });
  lower.draw(match, { marks: differing(second.columns, sameOthers) });

  const where = make("span", { className: "where" }, ` · ${whereOf(map)}`);
  const becomes = translations.changes.slice(0, MOST_CHANGES).flatMap(([one, two], i) => [...(i ? [t("separator")] : []), ...rich("compare.becomes", { one: makeWord(one || "–", "strong"), two: makeWord(two || "–", "strong") })]);
  const lead = becomes.length ? becomes : [t("compare.same")];
  finding.replaceChildren(...lead, where);
  const changes = changesBetween({ first, second, row, match, columns });
  const top = [first.top(row), second.top(match)];
  const moved = changes.reduce((sum, { difference }) => sum + Math.abs(difference), 0) / 2;
  const isSame = columns.get(top[0]) === top[1];
  honest.replaceChildren(
    ...rich("compare.moved", { word: makeWord(first.rows[row].text), moved: number(moved) }), " ",
    ...rich(isSame ? "compare.still" : "compare.now", { word: makeWord(second.columns[top[1]].text), before: makeWord(first.columns[top[0]].text) }), " ", t("compare.hint"));
}

/** For each matched column, its weights in both texts, largest difference first. */
function changesBetween({ first, second, row, match, columns }) {
  const taken = new Set(columns.values());
  const pairs = [...first.columns.map((_, i) => [i, columns.get(i) ?? null]), ...second.columns.map((_, j) => [null, j]).filter(([, j]) => !taken.has(j))];
  return pairs.map(([i, j]) => {
    const [before, after] = [i === null ? 0 : first.at(row, i), j === null ? 0 : second.at(match, j)];
    const names = [...new Set([i === null ? "–" : first.columns[i].text, j === null ? "–" : second.columns[j].text])];
    return { name: names.join(" / "), before, after, difference: after - before };
  }).sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

const movedBetween = (pair) => changesBetween(pair).reduce((sum, { difference }) => sum + Math.abs(difference), 0) / 2;
const signed = (value) => (value > 0 ? "+" : "") + number(value);

function drawChanges(map, pair) {
  const list = make("ul", { className: "changes" }, ...changesBetween(pair).slice(0, SHOWN).filter(({ difference }, i) => i === 0 || Math.abs(difference) >= LEAST).map(({ name, before, after, difference }) => {
    const bars = [["look", before], ["diff", after]].map(([style, value]) => {
      const bar = make("span", { className: `bar ${style}`, ariaHidden: "true" });
      bar.style.width = `${100 * value}%`;
      return bar;
    });
    return make("li", {}, makeWord(name), make("span", { className: "two-bars" }, ...bars), make("span", {}, `${number(before)} → ${number(after)} `, make("b", { textContent: signed(difference) })));
  }));
  return make("section", {}, make("h3", {}, ...rich("compare.where", { where: whereOf(map), word: makeWord(pair.first.rows[pair.row].text) })), list);
}

/** The heads whose attention from this word differs most, and what each does to the second translation. */
function drawHeads(moves, map, effects, [firstSteps, steps], change) {
  const sorted = [...moves].sort((a, b) => b.moved - a.moved);
  const own = sorted.find(({ head }) => head === map);
  const shown = sorted.slice(0, SHOWN);
  if (own && !shown.includes(own)) shown[SHOWN - 1] = own;
  const strongest = effects && differingStep(firstSteps, steps);
  const head = [t("compare.head"), t("compare.moved.column"), ...(strongest ? [make("span", {}, ...rich("compare.removed", { token: makeWord(plain(strongest.token)) }))] : [])];
  const body = shown.map(({ head: one, moved }) => {
    const button = makeButton(whereOf(one), "plain", () => change({ address: one.address, column: null, hover: null }));
    const effect = effects?.get(one.address);
    const isChanged = effect?.changes.some(({ step }) => step === strongest.step);
    const cells = [button, number(moved), ...(strongest ? [`${number(strongest.before)} → ${number(effect?.probabilities[strongest.step] ?? strongest.before)}${isChanged ? ` ${t("compare.changes")}` : ""}`] : [])];
    return make("tr", { className: one === map ? "chosen" : "" }, ...cells.map((cell) => make("td", {}, cell)));
  });
  const table = make("table", { className: "wide" }, make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)))), make("tbody", {}, ...body));
  return make("section", {}, make("h3", { textContent: t("compare.heads") }), make("div", { className: "frame" }, table), make("p", { className: "small", textContent: t("compare.warning") }));
}

/** The first token of the second translation that the first does not have there, or its last token. */
function differingStep(first, second) {
  const tokens = (steps) => steps.map(({ token }) => token);
  const same = new Set(commonPairs(tokens(first), tokens(second)).map(([, j]) => j));
  const found = second.findIndex((_, j) => !same.has(j));
  const step = found < 0 ? second.length - 1 : found;
  return { step, token: second[step].token, before: second[step].probability };
}

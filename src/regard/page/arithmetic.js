// The arithmetic of one weight, number by number: query, key, score, softmax, weighted value; then the whole head.

import { fillSelect, make, makeCommand, makeFold, makeSelect, makeSvg, makeTable, makeToken, makeWord, plain, quoted } from "./dom.js";
import { drawVector, HEIGHT } from "./vector.js";
import { headArithmetic } from "./head_arithmetic.js";
import { number, rich, t, whole } from "./strings.js";

const exact = (value) => number(value, 4);

export function showArithmetic(add, { inspection, state, listen, later }) {
  const title = make("span", {});
  const body = make("div", { id: "arithmetic-body" });
  const [rowLabel, rowSelect] = makeSelect("arithmetic-row", t("sum.row"), (value) => draw(Number(value), chosen.column));
  const [columnLabel, columnSelect] = makeSelect("arithmetic-key", t("sum.column"), (value) => draw(chosen.row, Number(value)));
  const controls = make("div", { className: "controls" }, rowLabel, columnLabel);
  const part = add(makeFold({ id: "arithmetic", title, open: !matchMedia("(max-width: 42rem)").matches, draw: (content) => content.append(controls, body) }));
  let chosen = { row: 0, column: 0 };
  const opened = new Set();

  async function draw(row, column) {
    const { address } = state;
    const map = inspection.maps.get(address);
    chosen = { row, column };
    controls.hidden = !map.head;
    if (!map.head) {
      title.textContent = t("sum.title.none");
      body.replaceChildren(make("p", { className: "note", textContent: t("sum.combined") }));
      return;
    }
    const { rows, columns, read } = map.attention;
    fillSelect(rowSelect, rows.tokens.map((token, i) => [String(i), read ? `${read.tokens[i]} → ${token}` : token]), String(row));
    fillSelect(columnSelect, columns.tokens.map((token, i) => [String(i), token]), String(column));
    const table = await inspection.table(address, "tokens");
    title.textContent = t("sum.title", { weight: number(table.at(row, column)) });
    if (!part.open) return; // the vectors are only asked for when they are shown
    body.classList.add("stale");
    const vectors = await inspection.provider.vectors(address);
    if (address !== state.address || chosen.row !== row || chosen.column !== column) return;
    body.classList.remove("stale");
    if (!vectors) {
      body.replaceChildren(make("p", { textContent: t("sum.missing", { address }) }), headCommand(inspection, map, row),
        make("p", { textContent: t("sum.page") }), makeCommand(`${inspection.facts.command} --trace ${address} --html page.html`));
      return;
    }
    const arithmetic = headArithmetic(vectors, row, columns.tokens.length, map.attention);
    const names = { row: rows.tokens[row], columns: columns.tokens };
    body.replaceChildren(...drawSteps(arithmetic, inspection, map, names, column),
      make("div", { className: "sum-below" }, drawTable(arithmetic, names, column, (j) => draw(row, j)), make("div", {}, ...drawDetails(arithmetic, vectors, inspection, map, names, chosen, opened))));
  }

  async function follow() {
    const { address, units } = state;
    const pair = await tokenPair(inspection, state);
    if (address === state.address && units === state.units) await draw(pair.row, pair.column);
  }
  const update = () => follow().catch((error) => body.replaceChildren(make("p", { className: "warning", textContent: error.message })));

  later.push(update());
  part.addEventListener("toggle", () => part.open && !body.childElementCount && update());
  listen((changed) => changed.some((name) => ["address", "units", "row", "column"].includes(name)) && update());
}

/** Of the tokens of the selected words, the pair with the largest weight. */
export async function tokenPair(inspection, { address, units, row, column }) {
  const [words, tokens] = await Promise.all([inspection.table(address, units), inspection.table(address, "tokens")]);
  const at = Math.min(row, words.rows.length - 1);
  const { begin, end } = words.rows[at];
  const seen = words.columns[column ?? words.top(at)];
  let best = null;
  for (let i = begin; i < end; i++) {
    for (let j = seen.begin; j < seen.end; j++) if (!best || tokens.at(i, j) > best.weight) best = { row: i, column: j, weight: tokens.at(i, j) };
  }
  return best;
}

function drawSteps(arithmetic, inspection, map, names, column) {
  const { q, keys, width, isScaled, scoreVector, sum, maximum } = arithmetic;
  const { k, v, products, score, scaled, allowed, weight } = keys[column];
  const [asking, offering] = [makeWord(plain(names.row)), makeWord(plain(names.columns[column]))];
  const word = (element) => element.cloneNode(true);
  const scale = largest([q, k]);
  const { intervention } = inspection.facts;
  const isReplaced = intervention?.heads.includes(map.address);
  const softmax = t("sum.softmax", { scaled: number(scaled), power: significant(Math.exp(scaled)), sum: significant(sum * Math.exp(maximum)) });
  const shareNote = !allowed ? t("sum.masked") : isReplaced ? t("sum.replaced") : softmax;
  const divide = t("sum.divide", { width, root: number(Math.sqrt(width)) });
  const steps = [
    step(rich("sum.asks", { word: word(asking) }), drawVector(q, scale), few(q), t("sum.query", { count: width })),
    operator(scoreVector ? "+" : "·"),
    step(rich("sum.offers", { word: word(offering) }), drawVector(k, scale), few(k), t("sum.key", { count: width })),
    operator("="),
    step(t(scoreVector ? "sum.additive" : "sum.multiply"), drawVector(products, largest([products])), number(score), t("sum.score")),
    ...(isScaled ? [operator("→"), step(t("sum.scale"), drawScale(Math.sqrt(width)), number(scaled), divide)] : []),
    operator("→"),
    step(t("sum.share"), drawShare(weight), number(weight), shareNote, "result"),
    operator("×"),
    step(rich("sum.passes", { word: word(offering), to: word(asking) }), drawVector(v.map((element) => element * weight), largest([v])), few(v.map((element) => element * weight)), t("sum.value", { count: width })),
  ];
  const isProjected = inspection.facts.width !== width;
  const note = isProjected ? t("sum.note", { inputs: whole(inspection.facts.width), width }) : t("sum.note.only");
  const warning = intervention ? [make("p", { className: "warning" }, t("sum.intervention", { name: intervention.name }), " ", make("span", { lang: "en", textContent: `${intervention.description}.` }))] : [];
  return [make("p", { className: "note", textContent: note }), ...warning, make("div", { className: "sum-steps" }, ...steps)];
}

const step = (label, picture, value, term, style = "") => make("div", { className: `sum-step ${style}` },
  make("span", { className: "label" }, ...[label].flat()), picture, make("span", { className: value.endsWith("…") ? "value few" : "value", textContent: value }), make("span", { className: "term", textContent: term }));
const operator = (sign) => make("span", { className: "operator", ariaHidden: "true", textContent: sign });
const few = (vector) => `${Array.from(vector.slice(0, 3), (each) => number(each)).join("  ")} …`;
const significant = (value) => (value >= 1000 ? whole(Math.round(value)) : value >= 10 ? number(value, 1) : number(value, value < 0.01 ? 4 : 2));
const largest = (vectors) => Math.max(...vectors.map((vector) => Math.max(...Array.from(vector, Math.abs)))) || 1;

function drawScale(root) {
  const svg = makeSvg("svg", { class: "vector", viewBox: `0 0 100 ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(makeSvg("rect", { class: "track", x: 0.5, y: 10, width: 99, height: 7 }), makeSvg("rect", { class: "positive", y: 25, width: 100 / root, height: 7 }));
  return svg;
}

function drawShare(weight) {
  const svg = makeSvg("svg", { class: "vector", viewBox: `0 0 100 ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(makeSvg("rect", { class: "positive", y: 14, width: 100 * weight, height: 16 }), makeSvg("rect", { class: "track", x: 0.5, y: 14, width: 99, height: 16 }));
  return svg;
}

function drawTable({ keys, isScaled, sum, maximum }, names, column, choose) {
  const rows = keys.map((entry, j) => {
    const button = make("button", { type: "button", className: "link", ariaPressed: String(j === column) }, makeToken(names.columns[j]));
    button.addEventListener("click", () => choose(j));
    const numbers = [...(isScaled ? [exact(entry.scaled)] : []), exact(entry.exponential), exact(entry.weight)];
    return { cells: [button, exact(entry.score), ...(entry.allowed ? numbers : numbers.map((_, i) => (i ? "" : t("sum.masked"))))], chosen: j === column };
  });
  const total = keys.reduce((all, { weight }) => all + weight, 0);
  const head = [t("sum.token"), t("sum.col.score"), ...(isScaled ? [`÷ ${number(Math.sqrt(keys[0].k.length))}`] : []), `e^(${t(isScaled ? "sum.scaled" : "sum.col.score")} − ${number(maximum)})`, t("sum.col.weight")];
  const foot = [t("sum.total"), "", ...(isScaled ? [""] : []), exact(sum), exact(total)];
  return make("div", { className: "sum-table" }, make("h3", { textContent: t("sum.table") }), makeTable(t("sum.table"), head, rows, foot));
}

const numbered = (...vectors) => Array.from(vectors[0], (_, i) => ({ cells: [String(i + 1), ...vectors.map((vector) => exact(vector[i]))] }));

/** The tables element by element, each folded. */
function drawDetails(arithmetic, vectors, inspection, map, names, { row, column }, opened) {
  const { q, scoreVector, keys, mixed, width } = arithmetic;
  const { k, v, tanh, products, score, weight } = keys[column];
  const { steps, residual } = map.attention;
  const token = names.columns[column];
  const heads = scoreVector ? ["query", "key", "tanh", "v"] : ["query", "key"];
  const columns = scoreVector ? numbered(q, k, tanh, scoreVector, products) : numbered(q, k, products);
  const fold = (id, summary, ...content) => {
    const details = make("details", { id, className: "plain", open: opened.has(id) }, make("summary", {}, ...[summary].flat()), ...content);
    details.addEventListener("toggle", () => (details.open ? opened.add(id) : opened.delete(id)));
    return details;
  };
  const how = make("p", { className: "small", lang: "en", textContent: t("sum.query.how", steps) });
  return [
    fold("sum-products", t("sum.products", { token }), how, makeTable(t("sum.products", { token }), [t("sum.element"), ...heads, t("sum.product")], columns, [t("sum.total"), ...heads.map(() => ""), exact(score)])),
    fold("sum-weighted", t("sum.weighted", { token, weight: exact(weight) }), makeTable(t("sum.contribution"), [t("sum.element"), "value", t("sum.contribution")], numbered(v, v.map((element) => weight * element)))),
    fold("sum-mixed", t("sum.mixed"), makeTable(t("sum.mixed"), [t("sum.element"), t("sum.output")], numbered(mixed))),
    fold("sum-joined", t("sum.joined", steps), ...drawOutput(vectors, row, width), ...(residual ? [make("p", { className: "small", textContent: t("sum.added") })] : []),
      make("p", { textContent: t("sum.command") }), headCommand(inspection, map, row)),
  ];
}

/** The vectors after the head output, if the provider has them: those of a single head. */
function drawOutput({ joined, output }, row, width) {
  if (!output) return [];
  return [
    makeTable(t("sum.concatenation"), [t("sum.element"), t("sum.concatenation")], numbered(joined.subarray(row * 2 * width, (row + 1) * 2 * width))),
    makeTable(t("sum.output"), [t("sum.element"), t("sum.output")], numbered(output.subarray(row * width, (row + 1) * width))),
  ];
}

const headCommand = ({ facts }, map, row) => makeCommand(`${facts.command} --trace ${map.address} --tokens --word ${quoted(map.attention.rows.tokens[row])}`);

// The Arithmetic tab: the steps of one head for one token, computed here from the exported vectors.

import { attentionOf, data, floatsOf, headAddresses } from "./provider.js";
import { byId, fillSelect, make, makeTable } from "./dom.js";
import { change, listen, state } from "./state.js";

const openSteps = new Set([1, 2, 3]);
const digits = (number) => number.toFixed(4);

async function vectorsOf(head) {
  const packed = data.numbers[head];
  const names = ["query", "key", "value"];
  const arrays = await Promise.all(names.map((name) => floatsOf(`${head}.${name}`, packed[name])));
  return Object.fromEntries(names.map((name, i) => [name, arrays[i]]));
}

/** Compute every number of one head for the query at index `row`, from the query vector to the output of the head. */
export function compute({ query, key, value }, row, width, length, causal) {
  const q = query.subarray(row * width, (row + 1) * width);
  const sqrtWidth = Math.sqrt(width);
  const keys = Array.from({ length }, (_, j) => {
    const k = key.subarray(j * width, (j + 1) * width);
    const v = value.subarray(j * width, (j + 1) * width);
    const products = Array.from(q, (element, i) => element * k[i]);
    const score = products.reduce((sum, product) => sum + product, 0);
    return { k, v, products, score, scaled: score / sqrtWidth, allowed: !(causal && j > row) };
  });
  const maxScaled = Math.max(...keys.filter((entry) => entry.allowed).map((entry) => entry.scaled));
  for (const entry of keys) entry.exponential = entry.allowed ? Math.exp(entry.scaled - maxScaled) : 0;
  const exponentialSum = keys.reduce((sum, entry) => sum + entry.exponential, 0);
  for (const entry of keys) entry.weight = entry.exponential / exponentialSum;
  const mixed = Array.from({ length: width }, (_, i) => keys.reduce((sum, entry) => sum + entry.weight * entry.v[i], 0));
  return { q, sqrtWidth, keys, maxScaled, exponentialSum, mixed };
}

function makeStep(number, title, ...inner) {
  const details = make("details", { open: openSteps.has(number) }, make("summary", { textContent: `${number}. ${title}` }), make("div", { className: "inner" }, ...inner));
  details.addEventListener("toggle", () => (details.open ? openSteps.add(number) : openSteps.delete(number)));
  return make("li", {}, details);
}

function keyButton(text, arithmeticKey) {
  const button = make("button", { textContent: text, ariaLabel: `show the products with ${text}` });
  button.addEventListener("click", () => {
    openSteps.add(2);
    change({ arithmeticKey });
  });
  return button;
}

function makeSteps(arithmetic, columns, at) {
  const names = columns.tokens;
  const chosen = arithmetic.keys[at];
  const width = arithmetic.q.length;
  const tableRows = (rows) => rows.map((cells) => ({ cells }));
  return [
    makeStep(1, "Scores and attention weights of all tokens",
      make("p", { textContent: `Score: the dot product of query and key. Scaling: divide by the square root of ${width} (${digits(arithmetic.sqrtWidth)}). Softmax: subtract the maximum (${digits(arithmetic.maxScaled)}), exponentiate, divide by the sum (${digits(arithmetic.exponentialSum)}). Select a token to see its products.` }),
      makeTable("Scores and weights", ["token", "score", "scaled", "exp", "weight"],
        arithmetic.keys.map((entry, j) => ({
          cells: [keyButton(names[j], j), digits(entry.score), ...(entry.allowed ? [digits(entry.scaled), digits(entry.exponential), digits(entry.weight)] : ["masked", "", ""])],
          chosen: j === at,
        })),
        ["sum", "", "", digits(arithmetic.exponentialSum), digits(arithmetic.keys.reduce((sum, entry) => sum + entry.weight, 0))])),
    makeStep(2, `Score of ${names[at]}: query times key, element by element`,
      makeTable("Products", ["element", "query", "key", "product"], tableRows(chosen.products.map((product, i) => [String(i + 1), digits(arithmetic.q[i]), digits(chosen.k[i]), digits(product)])), ["sum", "", "", digits(chosen.score)])),
    makeStep(3, `Contribution of ${names[at]}: its value times its weight, ${digits(chosen.weight)}`,
      makeTable("Value times weight", ["element", "value", "value × weight"], tableRows(Array.from(chosen.v, (element, i) => [String(i + 1), digits(element), digits(chosen.weight * element)])))),
    makeStep(4, "Head output: the sum of all values times their weights",
      makeTable("Head output", ["element", "output"], tableRows(arithmetic.mixed.map((element, i) => [String(i + 1), digits(element)])))),
    makeStep(5, "Attention output: the outputs of all heads are concatenated, multiplied by the output matrix, and added to the input of the sublayer",
      make("p", { textContent: "This command prints these numbers and all other steps:" }), makeCommand(state.arithmeticHead)),
  ];
}

function makeCommand(head) {
  return make("code", { className: "command", textContent: `${data.command} --trace ${head} --tokens --word ${quoted(attentionOf(head).rows.tokens[state.arithmeticRow])}` });
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

async function drawArithmetic() {
  const head = state.arithmeticHead;
  const { rows, columns, read, causal, head_width: headWidth } = attentionOf(head);
  state.arithmeticRow = Math.min(state.arithmeticRow, rows.tokens.length - 1);
  state.arithmeticKey = Math.min(state.arithmeticKey, columns.tokens.length - 1);
  byId("arithmetic-title").textContent = `${head}: attention of one token`;
  byId("arithmetic-head").value = head;
  fillSelect(byId("arithmetic-row"), rows.tokens.map((token, i) => [String(i), read ? `${read.tokens[i]} → ${token}` : token]), String(state.arithmeticRow));
  if (!data.numbers[head]) {
    byId("arithmetic-steps").replaceChildren(
      make("p", { textContent: `This file does not contain the vectors of ${head}. This command prints them:` }), makeCommand(head),
      make("p", { textContent: "This command writes a page that contains them:" }),
      make("code", { className: "command", textContent: `${data.command} --trace ${head} --html page.html` }),
    );
    return;
  }
  const arithmetic = compute(await vectorsOf(head), state.arithmeticRow, headWidth, columns.tokens.length, causal);
  if (head !== state.arithmeticHead) return;
  byId("arithmetic-steps").replaceChildren(make("ol", { className: "steps" }, ...makeSteps(arithmetic, columns, state.arithmeticKey)));
}

export function showArithmetic() {
  state.arithmeticHead = Object.keys(data.numbers)[0] ?? headAddresses[0];
  fillSelect(byId("arithmetic-head"), headAddresses.map((head) => [head, data.numbers[head] ? head : `${head} (not in this file)`]), state.arithmeticHead);
  byId("arithmetic-head").addEventListener("change", (event) => change({ arithmeticHead: event.target.value }));
  byId("arithmetic-row").addEventListener("change", (event) => change({ arithmeticRow: Number(event.target.value) }));
  listen((changed) => changed.some((name) => name.startsWith("arithmetic")) && drawArithmetic());
  return drawArithmetic();
}

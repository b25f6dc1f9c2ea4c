// The Arithmetic tab: the steps of one head for one token. Scaled scores and weights are the recorded ones, so that they are
// right under an intervention too; the steps between them are computed here.

import { attentionOf, data, floatsOf, headAddresses } from "./provider.js";
import { byId, digits, fillSelect, make, makeCommand, makeTable, quoted } from "./dom.js";
import { change, listen, state } from "./state.js";

const openSteps = new Set([1, 2, 3]);

async function vectorsOf(head) {
  const packed = Object.entries(data.numbers[head]);
  const arrays = await Promise.all(packed.map(([name, numbers]) => floatsOf(`${head}.${name}`, numbers)));
  return Object.fromEntries(packed.map(([name], i) => [name, arrays[i]]));
}

/** Return every number of one head for the query at index `row`, from the query vector to the output of the head. */
export function compute({ query, key, value, scaled, weight, score_vector: scoreVector }, row, length, { head_width: width, causal, is_scaled: isScaled }) {
  const q = query.subarray(row * width, (row + 1) * width);
  const sqrtWidth = isScaled ? Math.sqrt(width) : 1;
  const keys = Array.from({ length }, (_, j) => {
    const k = key.subarray(j * width, (j + 1) * width);
    const v = value.subarray(j * width, (j + 1) * width);
    const tanh = scoreVector && Array.from(q, (element, i) => Math.tanh(element + k[i]));
    const products = Array.from(q, (element, i) => (scoreVector ? scoreVector[i] * tanh[i] : element * k[i]));
    const score = products.reduce((sum, product) => sum + product, 0);
    return { k, v, tanh, products, score, scaled: scaled[row * length + j], weight: weight[row * length + j], allowed: !(causal && j > row) };
  });
  const maxScaled = Math.max(...keys.filter((entry) => entry.allowed).map((entry) => entry.scaled));
  for (const entry of keys) entry.exponential = entry.allowed ? Math.exp(entry.scaled - maxScaled) : 0;
  const exponentialSum = keys.reduce((sum, entry) => sum + entry.exponential, 0);
  const mixed = Array.from({ length: width }, (_, i) => keys.reduce((sum, entry) => sum + entry.weight * entry.v[i], 0));
  return { q, scoreVector, sqrtWidth, keys, maxScaled, exponentialSum, mixed };
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

const numbered = (...vectors) => Array.from(vectors[0], (_, i) => ({ cells: [String(i + 1), ...vectors.map((vector) => digits(vector[i]))] }));

function makeScores(arithmetic, names, at, { is_scaled: isScaled, steps }) {
  const scaling = isScaled ? ` Scaling: divide by the square root of ${arithmetic.q.length} (${digits(arithmetic.sqrtWidth)}).` : "";
  const rows = arithmetic.keys.map((entry, j) => {
    const numbers = [...(isScaled ? [digits(entry.scaled)] : []), digits(entry.exponential), digits(entry.weight)];
    const masked = numbers.map((_, i) => (i ? "" : "masked"));
    return { cells: [keyButton(names[j], j), digits(entry.score), ...(entry.allowed ? numbers : masked)], chosen: j === at };
  });
  const replaced = data.intervention?.heads.includes(state.arithmeticHead) ? ` Intervention: ${data.intervention.description}.` : "";
  const sum = digits(arithmetic.keys.reduce((total, entry) => total + entry.weight, 0));
  return [
    make("p", { textContent: `Score: ${steps.score}.${scaling} Softmax: subtract the maximum (${digits(arithmetic.maxScaled)}), exponentiate, divide by the sum (${digits(arithmetic.exponentialSum)}).${replaced} Select a token to see its products.` }),
    makeTable("Scores and weights", ["token", "score", ...(isScaled ? ["scaled"] : []), "exp", "weight"], rows, ["sum", "", ...(isScaled ? [""] : []), digits(arithmetic.exponentialSum), sum]),
  ];
}

function makeProducts({ q, scoreVector }, { k, tanh, products, score }) {
  const columns = scoreVector ? ["query", "key", "tanh", "v", "product"] : ["query", "key", "product"];
  const rows = scoreVector ? numbered(q, k, tanh, scoreVector, products) : numbered(q, k, products);
  return makeTable("Products", ["element", ...columns], rows, ["sum", ...columns.slice(1).map(() => ""), digits(score)]);
}

/** The last step: the vectors after the head output if the file contains them, and the command that prints them. */
function makeOutput({ joined, output }, row, width) {
  const command = [make("p", { textContent: "This command prints these numbers and all other steps:" }), makeHeadCommand(state.arithmeticHead)];
  if (!output) return command;
  const [joinedWidth, outputWidth] = [2 * width, width];
  return [
    makeTable("Concatenation", ["element", "concatenation"], numbered(joined.subarray(row * joinedWidth, (row + 1) * joinedWidth))),
    makeTable("Attention output", ["element", "output"], numbered(output.subarray(row * outputWidth, (row + 1) * outputWidth))),
    ...command,
  ];
}

function makeSteps(arithmetic, vectors, attention) {
  const [names, at] = [attention.columns.tokens, state.arithmeticKey];
  const { steps, residual } = attention;
  const chosen = arithmetic.keys[at];
  const added = residual ? ", and added to the input of the sublayer" : "";
  return [
    makeStep(1, "Scores and attention weights of all tokens", ...makeScores(arithmetic, names, at, attention)),
    makeStep(2, `Score of ${names[at]}: ${steps.products}, element by element`,
      make("p", { className: "note", textContent: `Query: ${steps.query}. Key: ${steps.key}.` }), makeProducts(arithmetic, chosen)),
    makeStep(3, `Contribution of ${names[at]}: its value times its weight, ${digits(chosen.weight)}`,
      makeTable("Value times weight", ["element", "value", "value × weight"], numbered(chosen.v, chosen.v.map((element) => chosen.weight * element)))),
    makeStep(4, "Head output: the sum of all values times their weights",
      makeTable("Head output", ["element", "output"], numbered(arithmetic.mixed))),
    makeStep(5, `Attention output: ${steps.joined} are concatenated; the output is ${steps.output}${added}`,
      ...makeOutput(vectors, state.arithmeticRow, arithmetic.q.length)),
  ];
}

function makeHeadCommand(head) {
  return makeCommand(`${data.command} --trace ${head} --tokens --word ${quoted(attentionOf(head).rows.tokens[state.arithmeticRow])}`);
}

async function drawArithmetic() {
  const head = state.arithmeticHead;
  const attention = attentionOf(head);
  const { rows, columns, read } = attention;
  state.arithmeticRow = Math.min(state.arithmeticRow, rows.tokens.length - 1);
  state.arithmeticKey = Math.min(state.arithmeticKey, columns.tokens.length - 1);
  byId("arithmetic-title").textContent = `${head}: attention of one token`;
  byId("arithmetic-head").value = head;
  fillSelect(byId("arithmetic-row"), rows.tokens.map((token, i) => [String(i), read ? `${read.tokens[i]} → ${token}` : token]), String(state.arithmeticRow));
  if (!data.numbers[head]) {
    byId("arithmetic-steps").replaceChildren(
      make("p", { textContent: `This file does not contain the vectors of ${head}. This command prints them:` }), makeHeadCommand(head),
      make("p", { textContent: "This command writes a page that contains them:" }),
      makeCommand(`${data.command} --trace ${head} --html page.html`),
    );
    return;
  }
  const vectors = await vectorsOf(head);
  if (head !== state.arithmeticHead) return;
  const arithmetic = compute(vectors, state.arithmeticRow, columns.tokens.length, attention);
  byId("arithmetic-steps").replaceChildren(make("ol", { className: "steps" }, ...makeSteps(arithmetic, vectors, attention)));
}

export function showArithmetic() {
  state.arithmeticHead = Object.keys(data.numbers)[0] ?? headAddresses[0];
  fillSelect(byId("arithmetic-head"), headAddresses.map((head) => [head, data.numbers[head] ? head : `${head} (not in this file)`]), state.arithmeticHead);
  byId("arithmetic-head").addEventListener("change", (event) => change({ arithmeticHead: event.target.value }));
  byId("arithmetic-row").addEventListener("change", (event) => change({ arithmeticRow: Number(event.target.value) }));
  listen((changed) => changed.some((name) => name.startsWith("arithmetic")) && drawArithmetic());
  return drawArithmetic();
}

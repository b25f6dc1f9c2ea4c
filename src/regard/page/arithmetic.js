// The arithmetic of one head for one piece, in steps that open, cell by cell. Computed here from the exported vectors.

import { attentions, data, floatsOf } from "./provider.js";
import { byId, fillSelect, make, makeTable } from "./dom.js";
import { change, listen, state } from "./state.js";

const open = new Set([1, 2, 3]);
const digits = (number) => number.toFixed(4);

async function vectors(head) {
  const packed = data.numbers[head];
  const names = ["query", "key", "value"];
  const found = await Promise.all(names.map((name) => floatsOf(`${head}.${name}`, packed[name])));
  return Object.fromEntries(names.map((name, i) => [name, found[i]]));
}

/** Every number from the query to the mixture, for the piece `row`. */
export function computed({ query, key, value }, row, width, pieces, causal) {
  const q = query.subarray(row * width, (row + 1) * width);
  const root = Math.sqrt(width);
  const keys = Array.from({ length: pieces }, (_, j) => {
    const k = key.subarray(j * width, (j + 1) * width);
    const v = value.subarray(j * width, (j + 1) * width);
    const products = Array.from(q, (one, i) => one * k[i]);
    const score = products.reduce((sum, one) => sum + one, 0);
    return { k, v, products, score, scaled: score / root, may: !(causal && j > row) };
  });
  const largest = Math.max(...keys.filter((one) => one.may).map((one) => one.scaled));
  for (const one of keys) one.power = one.may ? Math.exp(one.scaled - largest) : 0;
  const powers = keys.reduce((sum, one) => sum + one.power, 0);
  for (const one of keys) one.weight = one.power / powers;
  const mixed = Array.from({ length: width }, (_, i) => keys.reduce((sum, one) => sum + one.weight * one.v[i], 0));
  return { q, root, keys, largest, powers, mixed };
}

function step(number, title, ...inner) {
  const details = make("details", { open: open.has(number) }, make("summary", { textContent: `${number}. ${title}` }), make("div", { className: "inner" }, ...inner));
  details.addEventListener("toggle", () => (details.open ? open.add(number) : open.delete(number)));
  return make("li", {}, details);
}

function choose(text, walkKey) {
  const button = make("button", { textContent: text, ariaLabel: `show the products with ${text}` });
  button.addEventListener("click", () => {
    open.add(2);
    change({ walkKey });
  });
  return button;
}

function steps(walk, columns, at) {
  const names = columns.pieces;
  const chosen = walk.keys[at];
  const width = walk.q.length;
  const count = (rows) => rows.map((cells) => ({ cells }));
  return [
    step(1, "Each piece has a key; how well it fits the query is its score, and its share is its weight",
      make("p", { textContent: `Scores are divided by the root of ${width}, ${digits(walk.root)}. Softmax: e to each less the largest (${digits(walk.largest)}), over the sum of all (${digits(walk.powers)}). Press a piece to see its products.` }),
      makeTable("Scores and weights", ["piece", "score", "scaled", "power", "weight"],
        walk.keys.map((one, j) => ({
          cells: [choose(names[j], j), digits(one.score), ...(one.may ? [digits(one.scaled), digits(one.power), digits(one.weight)] : ["may not", "be", "looked at"])],
          chosen: j === at,
        })),
        ["sum", "", "", digits(walk.powers), digits(walk.keys.reduce((sum, one) => sum + one.weight, 0))])),
    step(2, `The score of ${names[at]}: query times key, number by number`,
      makeTable("Products", ["number", "query", "key", "product"], count(chosen.products.map((product, i) => [String(i + 1), digits(walk.q[i]), digits(chosen.k[i]), digits(product)])), ["sum", "", "", digits(chosen.score)])),
    step(3, `What ${names[at]} adds: its value times its weight, ${digits(chosen.weight)}`,
      makeTable("Value times weight", ["number", "value", "times weight"], count(Array.from(chosen.v, (one, i) => [String(i + 1), digits(one), digits(chosen.weight * one)])))),
    step(4, "All values times their weights, added up: what the head found",
      makeTable("What the head found", ["number", "found"], count(walk.mixed.map((one, i) => [String(i + 1), digits(one)])))),
    step(5, "Then the heads are put side by side, multiplied by the output matrix, and added to what came in",
      make("p", { textContent: "Those numbers, and every other of this pass, are one command away:" }), command(state.walkHead)),
  ];
}

function command(head) {
  return make("code", { className: "command", textContent: `${data.command} --trace ${head} --pieces --word ${quoted(sidesOf(head).rows.pieces[state.walkRow])}` });
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const sidesOf = (head) => attentions.find((one) => head.startsWith(`${one.address}.`));

async function drawWalk() {
  const head = state.walkHead;
  const { rows, columns, read, kind } = sidesOf(head);
  state.walkRow = Math.min(state.walkRow, rows.pieces.length - 1);
  state.walkKey = Math.min(state.walkKey, columns.pieces.length - 1);
  byId("walk-title").textContent = `${head}: how one piece looks at the others`;
  byId("walk-head").value = head;
  fillSelect(byId("walk-row"), rows.pieces.map((piece, i) => [String(i), read ? `${read.pieces[i]} → ${piece}` : piece]), String(state.walkRow));
  if (!data.numbers[head]) {
    byId("walk").replaceChildren(
      make("p", { textContent: `The vectors of ${head} are not in this file. This prints them:` }), command(head),
      make("p", { textContent: "and this makes a page that has them:" }),
      make("code", { className: "command", textContent: `${data.command} --trace ${head} --html page.html` }),
    );
    return;
  }
  const walk = computed(await vectors(head), state.walkRow, data.settings.width / data.settings.heads, columns.pieces.length, kind === "decoder.self");
  if (head !== state.walkHead) return;
  byId("walk").replaceChildren(make("ol", { className: "steps" }, ...steps(walk, columns, state.walkKey)));
}

export function showArithmetic() {
  const heads = attentions.flatMap(({ address }) => Array.from({ length: data.settings.heads }, (_, i) => `${address}.${i + 1}`));
  state.walkHead = Object.keys(data.numbers)[0] ?? heads[0];
  fillSelect(byId("walk-head"), heads.map((head) => [head, data.numbers[head] ? head : `${head} (not in this file)`]), state.walkHead);
  byId("walk-head").addEventListener("change", (event) => change({ walkHead: event.target.value }));
  byId("walk-row").addEventListener("change", (event) => change({ walkRow: Number(event.target.value) }));
  listen((changed) => changed.some((name) => name.startsWith("walk")) && drawWalk());
  return drawWalk();
}

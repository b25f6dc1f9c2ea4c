// The model: the stages of its stacks in the order of computation, with the vectors of one token of this text.

import { fillSelect, make, makeFold, makeSelect } from "./dom.js";
import { capital } from "./inspection.js";
import { number, t, whole } from "./strings.js";
import { drawVector } from "./vector.js";

export function showModel(add, { inspection, state, listen }) {
  const { facts, provider } = inspection;
  add(makeFold({
    id: "model", title: t("model.title"), note: t("model.note"), open: false,
    async draw(content) {
      const vectors = await Promise.all(facts.stacks.map(({ name }) => provider.vectors(name)));
      content.append(
        make("p", { className: "note", id: "model-text" }, make("span", { lang: "en", textContent: facts.architecture }), " ",
          t("model.text", { parameters: whole(facts.parameters), source: facts.source.tokens.length, target: facts.written.tokens.length })),
        make("div", { className: "stacks" }, ...facts.stacks.map((stack, i) => drawStack(stack, vectors[i] ?? {}, facts, { inspection, state, listen }))),
      );
    },
  }));
}

function drawStack(stack, vectors, facts, { inspection, state, listen }) {
  const { name, side, sublayers, after } = stack;
  const { tokens } = side === "source" ? facts.source : facts.read;
  const [label, select] = makeSelect(`model-token-${side}`, t("model.token"), (value) => draw(Number(value)));
  fillSelect(select, tokens.map((token, i) => [String(i), token]), "0");
  const list = make("div", {});
  const draw = (position) => {
    select.value = String(position);
    list.replaceChildren(...drawLayers(stack, vectors, tokens, position, facts.width));
  };
  const follow = async () => {
    const map = inspection.maps.get(state.address);
    if (!map || map.attention.queries !== side) return;
    const { address, units } = state;
    const table = await inspection.table(address, units);
    if (address === state.address && units === state.units) draw(Math.min(table.rows[Math.min(state.row, table.rows.length - 1)].begin, tokens.length - 1));
  };
  draw(0);
  follow();
  listen((changed) => changed.some((each) => ["address", "units", "row"].includes(each)) && follow());
  const described = [...sublayers, ...after].map(({ title, detail, receives }) => make("li", {}, make("b", { textContent: title }), ` ${detail}`, ...(receives ? [`, ${t("model.receives", { what: receives })}`] : [])));
  return make("section", { className: "stack" },
    make("h3", { textContent: t("model.stack", { stack: capital(name), count: stack.outputs.length - 1 }) }),
    make("ol", { className: "sublayers", lang: "en" }, ...described), label, list);
}

/** The stages of one token, grouped by layer: the addresses of a layer begin with that of its output. */
function drawLayers({ vectors: stages, outputs }, vectors, tokens, position, width) {
  const layers = outputs.slice(1);
  const layerOf = ({ address }) => layers.findIndex((output) => address === output || address.startsWith(`${output}.`));
  const last = stages.findLastIndex((stage) => layerOf(stage) >= 0);
  const groups = [
    { title: t("model.input"), group: stages.filter((stage, i) => layerOf(stage) < 0 && i < last) },
    ...layers.map((output, i) => {
      const own = stages.filter((stage) => layerOf(stage) === i);
      const isShort = !own.some(({ address }) => vectors[address]);
      return { title: t("map.layer", { layer: i + 1 }), group: isShort ? [{ address: output, meaning: "output of the layer" }] : own };
    }),
    { title: t("model.output"), group: stages.slice(last + 1) },
  ];
  return groups.map(({ title, group }) => [title, group.filter(({ address }) => vectors[address])]).filter(([, group]) => group.length).map(([title, group]) =>
    make("section", { className: "stage-group" }, make("h4", { textContent: title }), ...group.map((stage) => drawStage(stage, vectors[stage.address], tokens, position, width))));
}

function drawStage({ address, meaning }, vectors, tokens, position, width) {
  const vector = vectors.subarray(position * width, (position + 1) * width);
  const text = meaning.replace("{token}", `“${tokens[position]}”`).replace("{position}", position);
  const most = vector.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
  const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  const stage = make("div", { className: "stage-row", title: address },
    make("span", { className: "small", lang: "en", textContent: text }), drawVector(vector, most),
    make("span", { className: "small" }, t("model.norm"), " ", make("span", { className: "norm", textContent: number(norm) })));
  stage.dataset.address = address;
  return stage;
}

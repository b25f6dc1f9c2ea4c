// The model: its stacks with their layers and sublayers, from bottom to top, with the shapes of this text.

import { make, makeFold } from "./dom.js";
import { capital } from "./inspection.js";
import { t, whole } from "./strings.js";

export function showModel(add, { inspection }) {
  const { facts } = inspection;
  add(makeFold({
    id: "model", title: t("model.title"), note: t("model.note"), open: false,
    draw(content) {
      content.append(
        make("div", { className: "stacks", lang: "en" }, ...facts.stacks.map((stack) => drawStack(stack, facts))),
        make("p", { className: "note", id: "model-text" }, make("span", { lang: "en", textContent: facts.architecture }), " ",
          t("model.text", { parameters: whole(facts.parameters), source: facts.source.tokens.length, target: facts.written.tokens.length })),
      );
    },
  }));
}

function drawStack({ name, side, input, sublayers, outputs, after }, facts) {
  const tokens = (side === "source" ? facts.source : facts.read).tokens.length;
  const box = ({ title, detail, receives }) => make("li", { className: "sublayer" }, make("b", { textContent: title }), ` ${detail}`, ...(receives ? [make("span", { className: "receives", textContent: t("model.receives", { what: receives }) })] : []));
  return make("section", { className: "stack" },
    ...(after.length ? [make("ol", { className: "sublayers" }, ...after.toReversed().map(box))] : []),
    make("h3", { textContent: t("model.layers", { stack: capital(name), count: outputs.length - 1 }) }),
    make("ol", { className: "sublayers boxed" }, ...sublayers.toReversed().map(box)),
    make("p", { className: "small", textContent: t("model.input", { tokens, width: facts.width, input }) }));
}

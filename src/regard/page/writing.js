// The translation written token by token: the most probable tokens of each step, and where the decoder looks.

import { drawBeams } from "./beams.js";
import { announce, directionOf, fillBars, make, makeButton, makeFold, makeToken } from "./dom.js";
import { whereOf } from "./inspection.js";
import { number, probability, t } from "./strings.js";

const UNLIKELY = 0.3; // tokens of a lower probability are marked

export function showWriting(add, { inspection, state, change, listen }) {
  const { steps } = inspection.facts;
  add(makeFold({
    id: "writing", title: t("writing.title"), note: t("writing.note", { limit: number(UNLIKELY) }), open: true,
    draw(content) {
      const tokens = make("div", { className: "written", role: "group", dir: directionOf(inspection.facts.texts.target), ariaLabel: t("writing.tokens") }, ...steps.map(({ token, probability: value }, i) => {
        const button = make("button", { type: "button", className: value < UNLIKELY ? "token unlikely" : "token", title: probability(value) }, makeToken(token));
        button.addEventListener("click", () => change({ step: i }));
        return button;
      }));
      const text = make("p", { className: "readout", id: "step-text" });
      const alternatives = make("ol", { className: "bars", id: "alternatives" });
      const looking = make("ol", { className: "bars", id: "step-attention" });
      const lookingTitle = make("h3", {});
      const move = (by) => change({ step: Math.max(0, Math.min(steps.length - 1, state.step + by)) });
      const [back, next] = [makeButton(t("writing.back"), "", () => move(-1), { id: "step-back" }), makeButton(t("writing.next"), "", () => move(1), { id: "step-next" })];
      tokens.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        move(by);
        tokens.children[state.step].focus();
      });
      const columns = make("div", { className: "halves" }, make("div", {}, make("h3", { textContent: t("writing.top") }), alternatives));
      if (inspection.mainAttention) columns.append(make("div", { id: "step-attention-part" }, lookingTitle, looking));
      content.append(tokens, make("div", { className: "controls" }, back, next, text), columns);
      const beams = drawBeams(inspection);
      content.append(beams.element);
      const draw = async () => {
        const { read, token, probability: value, alternatives: others } = steps[state.step];
        text.textContent = t("writing.step", { step: state.step + 1, count: steps.length, read, token, probability: number(value, 3) });
        fillBars(alternatives, others.map(([name, share]) => ({ name, value: share, chosen: name === token })), 3);
        [...tokens.children].forEach((button, i) => {
          button.setAttribute("aria-pressed", String(i === state.step));
          button.tabIndex = i === state.step ? 0 : -1;
        });
        back.disabled = state.step === 0;
        next.disabled = state.step === steps.length - 1;
        beams.mark(state.step);
        await drawLooking(inspection, state, lookingTitle, looking);
      };
      draw();
      listen((changed) => {
        if (!changed.includes("step")) return;
        draw();
        announce(text.textContent);
      });
    },
  }));
}

async function drawLooking(inspection, state, title, list) {
  const { mainAttention: main, maps } = inspection;
  if (!main) return;
  const map = maps.get(main.heads > 1 ? `${main.address}.mean` : `${main.address}.1`);
  const { step } = state;
  const table = await inspection.table(map.address, "tokens");
  if (step !== state.step) return;
  title.textContent = t("writing.attention", { where: whereOf(map) });
  fillBars(list, table.ranked(step).slice(0, 5).map((j) => ({ name: table.columns[j].text, value: table.at(step, j) })), 3);
}

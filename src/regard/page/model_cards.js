// The cards of the models, at the foot of the page. A card is Markdown of the simplest kind: headings, paragraphs, lists
// and tables.

import { make, makeButton } from "./dom.js";
import { t } from "./strings.js";

/** Make a part that opens. `ask(path)` asks the server for the models when it is opened. */
export function makeModelCards(ask) {
  const content = make("div", { className: "cards" });
  const element = make("details", { id: "models" }, make("summary", {}, t("models.title")), content);
  const load = async () => {
    content.replaceChildren(make("p", { className: "note", textContent: t("models.waiting") }));
    try {
      const { models } = await ask("v1/models");
      content.replaceChildren(...models.map(makeCard));
    } catch (error) {
      content.replaceChildren(make("p", { className: "note" }, `${error.message || t("problem.offline")} `, makeButton(t("problem.again"), "", load)));
    }
  };
  element.addEventListener("toggle", () => element.open && !content.childElementCount && load());
  return element;
}

function makeCard({ name, source, target, description, card }) {
  const heading = make("h2", { textContent: `${name} (${source} → ${target})` });
  const about = make("p", { textContent: description });
  if (!card) return make("div", { className: "model-card" }, heading, about);
  return make("details", { className: "model-card" }, make("summary", {}, heading), about, make("div", { className: "markdown", lang: "en" }, ...markdown(card)));
}

/** The elements of a text in Markdown. */
export function markdown(text) {
  return text.replaceAll("\r", "").split(/\n{2,}/).flatMap((block) => makeBlock(block.replace(/^\n+|\s+$/g, "")));
}

function makeBlock(block) {
  const lines = block.split("\n");
  const heading = /^(#{1,6})\s+(.*)$/.exec(lines[0]);
  if (!block) return [];
  if (heading) return [make(heading[1].length === 1 ? "h3" : "h4", {}, ...inline(heading[2])), ...makeBlock(lines.slice(1).join("\n"))];
  if (lines.every((line) => line.startsWith("    "))) return [make("pre", {}, make("code", { textContent: lines.map((line) => line.slice(4)).join("\n") }))];
  if (lines.every((line) => line.startsWith("|"))) return [makeTable(lines)];
  if (lines.every((line) => /^([-*]|\s)\s/.test(line))) {
    return [make("ul", {}, ...block.split(/^[-*]\s+/m).filter(Boolean).map((item) => make("li", {}, ...inline(item))))];
  }
  return [make("p", {}, ...inline(block))];
}

function makeTable(lines) {
  const cells = (line) => line.replace(/^\||\|\s*$/g, "").split("|").map((cell) => cell.trim());
  const [head, ...rows] = lines.filter((line) => !/^[|\s:-]+$/.test(line)).map(cells);
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, ...inline(cell))))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, ...inline(cell)))))));
  return make("div", { className: "frame", tabIndex: 0, role: "region", ariaLabel: head.join(", ") }, table);
}

const inline = (text) => text.split(/(`[^`]+`)/).map((part) => (/^`.+`$/.test(part) ? make("code", { textContent: part.slice(1, -1) }) : part));

// The button under a translation that opens "Inside" for one of its sentences. What draws it is loaded when it is opened.

import { changeFragment, inFragment } from "./fragment.js";
import { make, makeButton, makeSvg } from "./dom.js";
import { makeIcon } from "./icons.js";
import { t } from "./strings.js";

const TOUR_TEXT = "The animal didn't cross the street because it was too tired."; // what the tour explains
const VISIBLE = 0.5; // of the height of the window, in which the part may begin without being scrolled to
const DELAY = 400; // milliseconds in which a text may still change before it is inspected

/** Make the part. `ask(path, body)` asks the server, and `changeText(text, language)` puts a text into the page. */
export function makeInsidePart(ask, languages, changeText) {
  const opener = make("button", { type: "button", id: "open-inside", className: "opener" },
    makeArcs(),
    make("strong", {}, t("inside.open"), makeIcon("down")),
    make("span", { className: "small", textContent: t("inside.open.note") }));
  opener.setAttribute("aria-expanded", "false");
  const container = make("section", { className: "inside", ariaLabel: t("inside"), id: "inside" });
  const close = makeButton("", "plain", () => setOpen(false), { id: "close-inside" });
  close.append(makeIcon("clear"), t("inside.close"));
  const heading = make("div", { className: "inside-heading" });
  const element = make("div", { id: "inside-part", hidden: true }, make("div", { className: "inside-close" }, heading, close), container);
  let current = null; // { text, translation, source, target }
  let shown = "";
  let timer = 0;
  let isTouring = false; // whether the next drawing starts the tour

  opener.addEventListener("click", () => setOpen(true));

  function setOpen(isOpen) {
    element.hidden = !isOpen;
    opener.hidden = isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    document.body.toggleAttribute("data-inside", isOpen); // the translation then takes less space
    if (!isOpen) {
      changeFragment({ inside: null });
      opener.focus();
      return;
    }
    if (current) draw();
    else showExample();
    if (element.getBoundingClientRect().top > innerHeight * VISIBLE) element.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  function showExample() {
    if (languages.some(({ code }) => code === "en")) changeText(TOUR_TEXT, "en");
  }

  /** Open the part, and start the tour of it. */
  function tour() {
    isTouring = true;
    shown = "";
    if (current?.text !== TOUR_TEXT) showExample();
    if (current) setOpen(true);
  }

  /** Show a sentence with its translation, if the part is open, or when it is opened. A link or the tour may open it. */
  function show(sentence) {
    current = sentence;
    if (sentence && (element.hidden || isTouring) && (isTouring || inFragment("inside") !== null)) setOpen(true);
    clearTimeout(timer);
    if (!element.hidden && sentence) timer = setTimeout(draw, DELAY);
  }

  async function draw() {
    if (!current || shown === JSON.stringify(current)) return;
    shown = JSON.stringify(current);
    const { text, translation, source, target } = current;
    if (!container.childElementCount) container.replaceChildren(make("p", { className: "note card", role: "status", textContent: t("inside.loading") }));
    try {
      await loadStyle();
      const [{ mountInside }, { makeHttpProvider }] = await Promise.all([import("./inside_live.js"), import("./http_provider.js")]);
      const send = ({ target: given, ...body }) => ask("v1/look", { ...body, translation: given ?? null, source, target });
      const provider = makeHttpProvider({ text, target: translation, without: null }, send, () => ask("v1/look"));
      const about = { text, source, target, languages, heading, tour: isTouring };
      isTouring = false;
      await mountInside(container, provider, about);
    } catch (error) {
      shown = "";
      container.replaceChildren(make("p", { className: "note card", role: "alert" }, `${error.message} `, makeButton(t("problem.again"), "", draw)));
    }
  }

  return { opener, element, show, setOpen, tour };
}

/** A drawing of words with lines between them. It shows no real text, so it has no words and no numbers. */
function makeArcs() {
  const svg = makeSvg("svg", { viewBox: "0 0 540 92", class: "arcs-drawing", "aria-hidden": "true" });
  const widths = [34, 58, 46, 44, 30, 50, 62, 26, 34, 30, 46];
  const middles = [];
  widths.reduce((left, width, i) => {
    middles.push(left + width / 2);
    svg.append(makeSvg("rect", { x: left, y: 78, width, height: 10, rx: 5, class: i === 7 ? "from" : i === 1 ? "to" : "" }));
    return left + width + 8;
  }, 0);
  for (const [to, width] of [[3, 1.5], [5, 3], [1, 11]]) {
    const [from, end] = [middles[7], middles[to]];
    const top = 72 - 0.25 * Math.abs(from - end);
    svg.append(makeSvg("path", { d: `M${from} 72C${from} ${top} ${end} ${top} ${end} 72`, "stroke-width": width }));
  }
  return svg;
}

/** Load the style sheet of "Inside", which the first paint does not need. */
function loadStyle() {
  const href = new URL("./inside.css", import.meta.url).href;
  if (document.querySelector(`link[href="${href}"]`)) return null;
  return new Promise((resolve) => {
    const link = make("link", { rel: "stylesheet", href });
    link.addEventListener("load", resolve);
    link.addEventListener("error", resolve);
    document.head.append(link);
  });
}

// The button under a translation that opens "Inside" for one of its sentences. What draws it is loaded when it is opened.

import { make, makeButton } from "./dom.js";
import { inFragment } from "./fragment.js";
import { makeIcon } from "./icons.js";
import { t } from "./strings.js";

export const TOUR_TEXT = "The animal didn't cross the street because it was too tired."; // what the tour explains
const DELAY = 400; // milliseconds in which a text may still change before it is inspected

/** Make the part. `ask(path, body)` posts a body to the server, and `changeText(text, language)` puts a text into the page. */
export function makeInsidePart(ask, languages, changeText) {
  const opener = make("button", { type: "button", id: "open-inside", className: "opener" },
    make("strong", {}, makeIcon("inside"), t("inside.open"), makeIcon("down")),
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
  let isTouring = false;

  opener.addEventListener("click", () => setOpen(true));

  function setOpen(isOpen) {
    element.hidden = !isOpen;
    opener.hidden = isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) draw();
    else opener.focus();
    if (isOpen) element.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  /** Open the part, and start the tour of it. */
  function tour() {
    isTouring = true;
    shown = "";
    if (current?.text !== TOUR_TEXT && languages.some(({ code }) => code === "en")) changeText(TOUR_TEXT, "en");
    else if (current) setOpen(true);
  }

  /** Show a sentence with its translation, if the part is open, or when it is opened. A link or the tour may open it. */
  function show(sentence) {
    current = sentence;
    if (sentence && (element.hidden || isTouring) && (isTouring || inFragment("inside") !== null)) setOpen(true);
    opener.parentElement?.classList.toggle("is-empty", !sentence);
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

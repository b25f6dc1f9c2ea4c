// The button under a translation that opens "Inside" for one of its sentences. What draws it is loaded when it is opened.

import { make, makeButton } from "./dom.js";
import { makeIcon } from "./icons.js";
import { t } from "./strings.js";

const DELAY = 400; // milliseconds in which a text may still change before it is inspected

/** Make the part. `ask(path, body)` posts a body to the server. */
export function makeInsidePart(ask, languages) {
  const opener = make("button", { type: "button", id: "open-inside", className: "opener" },
    make("strong", {}, makeIcon("inside"), t("inside.open"), makeIcon("down")),
    make("span", { className: "small", textContent: t("inside.open.note") }));
  opener.setAttribute("aria-expanded", "false");
  const container = make("section", { className: "inside", ariaLabel: t("inside"), id: "inside" });
  const close = makeButton("", "plain", () => setOpen(false), { id: "close-inside" });
  close.append(makeIcon("clear"), t("inside.close"));
  const element = make("div", { id: "inside-part", hidden: true }, make("div", { className: "inside-close" }, close), container);
  let current = null; // { text, translation, source, target }
  let shown = "";
  let timer = 0;

  opener.addEventListener("click", () => setOpen(true));

  function setOpen(isOpen) {
    element.hidden = !isOpen;
    opener.hidden = isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) draw();
    else opener.focus();
    if (isOpen) element.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  /** Show a sentence with its translation, if the part is open, or when it is opened. */
  function show(sentence) {
    current = sentence;
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
      const provider = makeHttpProvider({ text, target: translation, without: null }, send);
      await mountInside(container, provider, { text, source, target, languages });
    } catch (error) {
      shown = "";
      container.replaceChildren(make("p", { className: "note card", role: "alert" }, `${error.message} `, makeButton(t("problem.again"), "", draw)));
    }
  }

  return { opener, element, show, setOpen };
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

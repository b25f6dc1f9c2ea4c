// The strip at the foot of the card: what has happened, what is kept, what happens next, and what the reader can do.

import { make, makeButton, makeSvg } from "./dom.js";
import { makeIcon } from "./icons.js";

/** Make the strip, which is hidden until it has something to say. */
export function makeStrip() {
  const element = make("div", { id: "strip", className: "strip", hidden: true });
  let timer = 0;

  function hide() {
    clearInterval(timer);
    element.hidden = true;
    element.replaceChildren();
    delete element.dataset.kind;
  }

  /**
   * Show a message: an icon, a bold reason, and a text. `actions` are pairs of a text and a function. With `until`, a
   * time, the text is a function of the seconds that remain, and a ring shows them.
   */
  function show({ kind, icon, reason, text, actions = [], until = null, extra = [] }) {
    clearInterval(timer);
    const line = make("p", {});
    const place = make("span", { className: "strip-icon" }, until ? "" : makeIcon(icon));
    const buttons = actions.map(([label, action]) => makeButton(label, "", action));
    const total = until ? Math.max(1, until - Date.now()) : 0;
    const draw = () => {
      const left = until ? Math.max(0, until - Date.now()) : 0;
      const seconds = Math.ceil(left / 1000);
      line.replaceChildren(make("b", { textContent: reason }), " ", typeof text === "function" ? text(seconds) : text);
      if (until) place.replaceChildren(makeRing(seconds, left / total));
    };
    draw();
    if (until) timer = setInterval(draw, 250);
    element.dataset.kind = kind;
    element.hidden = false;
    element.replaceChildren(place, line, ...extra, ...(buttons.length ? [make("div", { className: "strip-actions" }, ...buttons)] : []));
  }

  return { element, show, hide };
}

function makeRing(seconds, share) {
  const svg = makeSvg("svg", { viewBox: "0 0 36 36", class: "ring", "aria-hidden": "true" });
  const length = 2 * Math.PI * 15;
  svg.append(
    makeSvg("circle", { cx: 18, cy: 18, r: 15, class: "ring-track" }),
    makeSvg("circle", { cx: 18, cy: 18, r: 15, class: "ring-left", "stroke-dasharray": `${share * length} ${length}` }),
    makeSvg("text", { x: 18, y: 18.5 }, String(seconds)),
  );
  return svg;
}

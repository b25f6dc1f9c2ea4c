// The head of the page: the name, the language of the interface, and the theme.

import { fillSelect, make, makeSelect, makeSvg } from "./dom.js";
import { currentLanguage, LANGUAGES, t } from "./strings.js";

export const THEMES = ["auto", "light", "dark"];
const theme = { name: "auto" };

export const currentTheme = () => theme.name;

/** Use a theme; "auto" is that of the reader's system. */
export function setTheme(name) {
  theme.name = name;
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  document.dispatchEvent(new Event("themechange"));
}

export function makeBrand() {
  const svg = makeSvg("svg", { viewBox: "0 0 28 18", "aria-hidden": "true" });
  svg.append(
    makeSvg("path", { d: "M5 13C5 0 23 0 23 13", fill: "none", stroke: "var(--look)", "stroke-width": 2.6 }),
    makeSvg("circle", { cx: 5, cy: 14, r: 3.2, fill: "currentColor" }),
    makeSvg("circle", { cx: 23, cy: 14, r: 3.2, fill: "currentColor" }),
  );
  return make("p", { className: "brand" }, svg, "Regard");
}

/** Show the head of the page. `relabel(language)` is called when the reader chooses another language. */
export function showHeader(root, relabel, ...others) {
  const [languages, language] = makeSelect("ui-language", make("span", { className: "visually-hidden", textContent: t("language") }), relabel);
  fillSelect(language, LANGUAGES, currentLanguage());
  const [themes, chosen] = makeSelect("theme", make("span", { className: "visually-hidden", textContent: t("theme") }), setTheme);
  fillSelect(chosen, THEMES.map((name) => [name, t(`theme.${name}`)]), theme.name);
  root.replaceChildren(makeBrand(), ...others, languages, themes);
}

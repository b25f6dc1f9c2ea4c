// The head of the page at "/": the name, the tour, the language of the interface and the theme. The browser remembers the
// last two.

import { currentTheme, makeBrand, setTheme, THEMES } from "./header.js";
import { fillSelect, make, makeButton } from "./dom.js";
import { makeIcon } from "./icons.js";
import { currentLanguage, LANGUAGES, setLanguage, t, uiLanguage } from "./strings.js";

const kept = (name, values) => values.find((each) => each === localStorage.getItem(`regard.${name}`));

/** Use the language and the theme that the reader has chosen in this browser. */
export function restorePreferences() {
  setLanguage(kept("language", LANGUAGES.map(([code]) => code)) ?? uiLanguage());
  setTheme(kept("theme", THEMES) ?? "auto");
}

/** Make the head. `startTour()` and `relabel()`, after another language was chosen, are called. */
export function makePageHeader({ startTour, relabel }) {
  const tour = makeButton(t("tour.start"), "plain", startTour, { id: "start-tour" });
  const language = make("select", { id: "ui-language", ariaLabel: t("language") });
  fillSelect(language, LANGUAGES, currentLanguage());
  language.addEventListener("change", () => {
    localStorage.setItem("regard.language", language.value);
    setLanguage(language.value);
    relabel();
    document.getElementById("ui-language").focus();
  });
  const theme = makeButton("", "plain theme", () => {
    setTheme(THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length]);
    localStorage.setItem("regard.theme", currentTheme());
    showTheme();
  }, { id: "theme" });
  const label = make("span", { className: "theme-name" });
  theme.append(makeIcon("theme"), label);
  const showTheme = () => {
    label.textContent = t(`theme.${currentTheme()}`);
    theme.title = label.textContent;
  };
  showTheme();
  return make("header", { className: "top" }, makeBrand(), tour, language, theme);
}

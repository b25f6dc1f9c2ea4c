// Texts to try, for a reader who has none at hand.

import { make, makeButton } from "./dom.js";
import { langOf, t, uiLanguage } from "./strings.js";

const EXAMPLES = {
  en: [
    "The animal didn't cross the street because it was too tired.",
    "Thank you for your letter.\nWe had a quiet week at the seaside.\nThe train was late, so I missed the beginning of the film.",
    "Where did you put the keys?",
  ],
  fr: [
    "Merci pour votre lettre.\nNous avons passé une semaine tranquille au bord de la mer.",
    "Je ne sais pas où elle habite.",
    "Il a oublié ses clés dans la voiture.",
  ],
};

/** Make the list of examples in a language that can be translated from; `choose(text)` is called with one. */
export function makeExamples(sources, choose) {
  const code = [uiLanguage(), ...sources].find((each) => sources.includes(each) && EXAMPLES[each]);
  const buttons = (EXAMPLES[code] ?? []).map((text) => makeButton(text, "example", () => choose(text), { dir: "auto", ...langOf(code) }));
  const element = make("div", { className: "examples", hidden: !buttons.length }, make("p", { className: "small", textContent: t("source.examples") }), ...buttons);
  return { element, show: (isShown) => { element.hidden = !isShown || !buttons.length; } };
}

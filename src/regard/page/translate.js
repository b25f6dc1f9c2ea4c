// The page at "/": a text, its translation while it is being typed, other translations, and what is inside.

import { addTexts, t, uiLanguage } from "./strings.js";
import { inFragment } from "./fragment.js";
import { make, makeButton } from "./dom.js";
import { makeExamples } from "./examples.js";
import { makeFiles } from "./files.js";
import { makeIcon } from "./icons.js";
import { makeInsidePart } from "./inside_part.js";
import { makeLanguages } from "./languages.js";
import { makeLiveTranslation } from "./live_translation.js";
import { makeModelCards } from "./model_cards.js";
import { makeNotices } from "./notices.js";
import { makeOtherWords } from "./other_words.js";
import { makeOutputPane } from "./output_pane.js";
import { makeSourcePane } from "./source_pane.js";
import { makeStrip } from "./strip.js";
import { makeTranslationView } from "./translation_view.js";
import { makeWordings } from "./wordings.js";
import { PAGE_TEXTS } from "./page_texts.js";
import { ask } from "./server_client.js";
import { linkedSources, linkedTargets } from "./word_links.js";
import { makePageHeader, restorePreferences } from "./page_header.js";

const server = JSON.parse(document.getElementById("server").textContent);
const root = document.getElementById("page");

/** Build the page in the language of the interface, and translate a text. */
function build(text) {
  document.title = t("page.title");
  const parts = makeParts();
  const view = makeTranslationView(parts, server);
  parts.view = view;
  const relabel = () => {
    parts.live.stop();
    build(parts.source.field.value);
  };
  root.replaceChildren(makePageHeader({ startTour: parts.inside.tour, relabel }), makeMain(parts), makeFooter(), makePhoneBar(parts));
  parts.source.set(text);
  if (matchMedia("(hover: hover)").matches) parts.source.field.focus({ preventScroll: true }); // without a keyboard on the screen
  document.body.dataset.ready = "yes";
}

/** Make all parts of the page. What they do with each other is in translation_view.js. */
function makeParts() {
  const parts = {};
  const view = () => parts.view;
  parts.strip = makeStrip();
  parts.languages = makeLanguages(server.languages, { changed: () => view().want(true), swapped: () => view().swap() });
  parts.languages.choose(inFragment("s") ?? "", inFragment("t") ?? firstTarget(server.languages));
  parts.source = makeSourcePane(server.charLimit, {
    edited: ({ isUrgent }) => view()?.want(isUrgent),
    moved: (place) => view()?.follow(place),
    hovered: (place) => mark(place ? [place] : [], linkedTargets(view().last, place)),
    openFile: () => parts.files.open(),
  });
  parts.output = makeOutputPane({
    hovered: (place) => mark(linkedSources(view()?.last, place), place ? [place] : []),
    chosen: (place, word, isKeyboard) => parts.others.open(word, view().sentenceAt(place.sentence), place.word, isKeyboard),
  });
  const mark = (sources, targets) => {
    parts.source.mark(sources);
    parts.output.mark(targets);
  };
  parts.notices = makeNotices(parts.languages, (code) => view().chooseSource(code));
  parts.others = makeOtherWords((body, signal) => ask("v1/alternatives", body, signal), {
    chosen: (sentence, translation) => view().choose(sentence, translation),
    closed: (word, isFocused) => isFocused && word?.isConnected && word.focus(),
  });
  parts.wordings = makeWordings((body, signal) => ask("v1/translate", body, signal), server.wordingsLimit, { chosen: (sentence, translation) => view().choose(sentence, translation) });
  parts.inside = makeInsidePart(ask, server.languages, (text, language) => {
    parts.languages.choose(language, parts.languages.targetsOf(language)[0]);
    parts.source.set(text);
  });
  parts.examples = makeExamples(parts.languages.sources, (text) => parts.source.set(text));
  parts.card = makeCard(parts);
  parts.files = makeFiles({ suffixes: server.files, charLimit: server.charLimit, pair: parts.languages.chosen, setText: parts.source.set, strip: parts.strip, area: parts.card });
  parts.live = makeLiveTranslation(ask, { batch: server.batchLimit, route: parts.languages.route }, (state) => view().show(state));
  return parts;
}

function makeCard({ languages, source, examples, output, notices, strip, others }) {
  source.element.querySelector(".field").after(examples.element);
  return make("section", { className: "card translator" },
    make("h1", { className: "visually-hidden", textContent: t("page.title") }),
    make("div", { className: "language-bar" },
      make("span", { className: "menu" }, languages.source, makeIcon("down")), languages.swap, make("span", { className: "menu" }, languages.target, makeIcon("down"))),
    make("div", { className: "panes" }, source.element, output.element),
    notices.element, strip.element, others.element);
}

const makeMain = ({ card, files, inside, wordings }) =>
  make("main", {}, card, files.input, make("div", { className: "under" }, inside.opener, wordings.element), inside.element);

/** On phones, what is done most often stays at the foot of the screen. */
function makePhoneBar({ output, inside }) {
  const copy = makeButton("", "", (event) => output.copy(event.currentTarget));
  copy.append(makeIcon("copy"), make("span", { textContent: t("target.copy") }));
  return make("div", { className: "phone-bar" }, copy, makeButton(t("inside.open"), "main", () => inside.setOpen(true)));
}

function makeFooter() {
  return make("footer", { className: "page-footer small" },
    make("p", {}, t("footer.server")), make("p", {}, `Regard ${server.version}`),
    make("a", { href: "v1/docs", textContent: t("footer.api") }), makeModelCards(ask));
}

/** The language to translate into at first: that of the reader, unless they probably write in it. */
function firstTarget(languages) {
  const targets = [...new Set(languages.flatMap((each) => each.targets.filter((code) => code !== each.code)))];
  return targets.find((code) => code !== uiLanguage()) ?? targets[0];
}

addTexts(PAGE_TEXTS);
restorePreferences();
build(inFragment("q") ?? sessionStorage.getItem("regard.text") ?? "");

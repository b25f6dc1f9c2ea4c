// The page at "/": a text, its translation while it is being typed, and what is inside.

import { announce, make, makeButton } from "./dom.js";
import { changeFragment, inFragment } from "./fragment.js";
import { showHeader } from "./header.js";
import { makeInsidePart } from "./inside_part.js";
import { makeLanguages } from "./languages.js";
import { makeLiveTranslation } from "./live_translation.js";
import { makeOutputPane } from "./output_pane.js";
import { PAGE_TEXTS } from "./page_texts.js";
import { divide } from "./sentences.js";
import { ask } from "./server_client.js";
import { makeSourcePane } from "./source_pane.js";
import { addTexts, setLanguage, t, uiLanguage } from "./strings.js";
import { makeStrip } from "./strip.js";

const server = JSON.parse(document.getElementById("server").textContent);
const page = document.getElementById("page");

function build(text) {
  document.title = t("page.title");
  let last = null; // the last translation
  const languages = makeLanguages(server.languages, { changed: () => want(true), swapped: () => source.set(output.text() || source.field.value) });
  languages.choose(inFragment("s") ?? "", inFragment("t") ?? server.languages.at(-1).code);
  const source = makeSourcePane(server.charLimit, {
    edited: ({ isUrgent }) => want(isUrgent),
    hovered: (range) => { source.mark(range ? [range] : []); output.mark(targetsOf(last, range)); },
    openFile: () => {},
  });
  const output = makeOutputPane({
    hovered: (place) => { output.mark(place ? [place] : []); source.mark(sourcesOf(last, place)); },
    chosen: () => {},
  });
  const strip = makeStrip();
  const inside = makeInsidePart(ask, server.languages, (other, language) => {
    languages.choose(language, languages.targetsOf(language)[0]);
    source.set(other);
  });
  const limits = { batch: server.batchLimit, route: languages.route };
  const live = makeLiveTranslation(ask, limits, (state) => show(state));

  function want(isUrgent) {
    const request = { text: source.field.value, ...languages.chosen() };
    changeFragment({ s: request.source, t: request.target });
    sessionStorage.setItem("regard.text", request.text);
    output.fade(divide(request.text).map((each) => each.text), last ? last.sentences.map((each) => each.text) : []);
    live.want(request, { isUrgent });
  }

  function show(state) {
    if (state.phase !== "problem") strip.hide();
    if (state.phase === "empty") {
      last = null;
      output.clear();
      inside.show(null);
    }
    if (state.phase === "waiting") output.setPending(true);
    if (state.phase === "problem") {
      output.keep();
      strip.show({ kind: state.problem.kind, icon: "alert", reason: t("problem.failing"), text: state.problem.message, actions: [[t("problem.again"), live.again]] });
    }
    if (state.phase === "done") showTranslation(state);
  }

  function showTranslation(state) {
    last = state;
    if (state.detections.length) languages.detect(state.source);
    output.show(state);
    source.setLanguage(state.source);
    source.show(sourceWords(state));
    const sentence = state.sentences.at(-1);
    inside.show({ text: sentence.text, translation: sentence.translation.text, source: state.source, target: state.target });
    announce(t("target.done", { language: languages.nameOf(state.target), count: output.text().split(/\s+/).filter(Boolean).length }));
    document.body.dataset.translated = String(Number(document.body.dataset.translated ?? 0) + 1);
  }

  const card = make("section", { className: "card translator" },
    make("h1", { className: "visually-hidden", textContent: t("page.title") }),
    make("div", { className: "language-bar" }, languages.source, languages.swap, languages.target),
    make("div", { className: "panes" }, source.element, output.element), strip.element);
  const header = make("header", { className: "top" });
  showHeader(header, (language) => {
    setLanguage(language);
    build(source.field.value);
  }, makeButton(t("tour.start"), "plain", inside.tour, { id: "start-tour" }));
  page.replaceChildren(header, make("main", {}, card, make("div", { className: "under" }, inside.opener), inside.element));
  if (text) source.set(text);
  document.body.dataset.ready = "yes";
}

/** The places of all source words: [{ start, end, sentence, word }]. */
function sourceWords({ sentences }) {
  return sentences.flatMap(({ start, translation }, sentence) =>
    (translation.source_words ?? []).map((each, word) => ({ start: start + each.utf16_start, end: start + each.utf16_end, sentence, word })));
}

/** The places of the source words that a target word is linked to. */
function sourcesOf(state, place) {
  if (!state || !place) return [];
  const linked = state.sentences[place.sentence]?.translation.words?.[place.word]?.source ?? [];
  return sourceWords(state).filter((each) => each.sentence === place.sentence && linked.includes(each.word));
}

/** The target words that are linked to a source word. */
function targetsOf(state, range) {
  if (!state || !range) return [];
  const words = state.sentences[range.sentence]?.translation.words ?? [];
  return words.flatMap((each, word) => (each.source.includes(range.word) ? [{ sentence: range.sentence, word }] : []));
}

addTexts(PAGE_TEXTS);
setLanguage(uiLanguage());
build(inFragment("q") ?? sessionStorage.getItem("regard.text") ?? "");

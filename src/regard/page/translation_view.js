// What the parts of the page do with each other: it asks for translations of the text, and shows what is known.

import { announce } from "./dom.js";
import { changeFragment } from "./fragment.js";
import { divide } from "./sentences.js";
import { excessOf } from "./source_pane.js";
import { makeCache } from "./live_translation.js";
import { reasonOf, showProblem } from "./problem_strip.js";
import { sourceWords } from "./word_links.js";
import { t } from "./strings.js";
import { useKey } from "./server_client.js";

const SLOW = 3000; // milliseconds before the page says that a translation takes long
const QUIET = 400; // milliseconds after a translation; a screen reader is not told what the next key will change
const CHOICES = 200; // translations that the reader has chosen

/** Make the view of the parts that translate.js makes. */
export function makeTranslationView(parts, server) {
  const { live, languages, source, output, strip } = parts;
  const choices = makeCache(CHOICES); // for each sentence, the translation that the reader has chosen
  const view = { last: null, want, swap, show, follow, sentenceAt, choose, chooseSource };
  let isShortened = false; // whether the reader has asked for the translation of a text up to the limit
  let active = null; // the number of the sentence in which the reader is; null is the last one
  let slow = 0;
  let said = 0;
  let shownKind = null; // of the problem in the strip

  function want(isUrgent) {
    clearTimeout(said);
    const text = source.field.value;
    const chosen = languages.chosen();
    changeFragment({ s: chosen.source, t: chosen.target });
    sessionStorage.setItem("regard.text", text);
    parts.examples.show(!text);
    const excess = excessOf(text, source.limit);
    if (!excess) isShortened = false;
    if (excess && !isShortened) {
      live.stop();
      output.keep();
      showStrip({ kind: "long", over: [...excess].length });
      return;
    }
    const wanted = text.slice(0, text.length - excess.length);
    output.fade(divide(wanted).map((each) => each.text), view.last ? view.last.sentences.map((each) => each.text) : []);
    live.want({ text: wanted, ...chosen }, { isUrgent });
  }

  function show(state) {
    clearTimeout(slow);
    if (state.phase === "waiting") {
      output.setPending(true);
      if (shownKind === "long" || shownKind === "pair" || shownKind === "failing") hideStrip();
      slow = setTimeout(() => showStrip({ kind: "slow" }), Math.max(0, state.since + SLOW - Date.now()));
    }
    if (state.phase === "problem") {
      output.keep();
      showStrip(state.problem, state.retryAt);
    }
    if (state.phase === "empty") showNothing();
    if (state.phase === "done") showTranslation(state);
  }

  function showNothing() {
    view.last = null;
    delete document.body.dataset.translation;
    hideStrip();
    output.clear();
    parts.notices.show(null);
    parts.wordings.show(null);
    parts.inside.show(null);
  }

  function showStrip(problem, retryAt = null) {
    if (problem.kind === shownKind && !retryAt) return;
    if (problem.kind !== shownKind) alertTo(reasonOf(problem, languages));
    shownKind = problem.kind;
    const actions = {
      again: live.again,
      stop: () => { live.stop(); output.keep(); hideStrip(); showStrip({ kind: problem.kind === "slow" ? "stopped" : problem.kind }); },
      shorten: () => { isShortened = true; hideStrip(); want(true); },
      chooseTarget: (code) => { languages.choose(problem.source ?? "", code); want(true); },
      useKey: (key) => { useKey(key); hideStrip(); live.again(); },
    };
    showProblem(strip, problem, { retryAt, languages, actions });
  }

  function hideStrip() {
    if (shownKind) strip.hide();
    shownKind = null;
    alertTo("");
  }

  function showTranslation(state) {
    if (state.isDetected) followDetection(state);
    for (const each of state.sentences) each.translation = choices.get(keyOf(state, each.text)) ?? each.translation;
    view.last = state;
    if (!isShortened) hideStrip();
    output.show(state);
    source.setLanguage(state.source);
    source.show(sourceWords(state));
    parts.notices.show(state);
    showSentence();
    const count = output.text().split(/\s+/).filter(Boolean).length;
    said = setTimeout(() => announce(t("target.done", { language: languages.nameOf(state.target), count })), QUIET);
    document.body.dataset.translation = "yes";
    document.body.dataset.translated = String(Number(document.body.dataset.translated ?? 0) + 1);
  }

  /** Say which language was detected. A text in the language of the target is translated into another one. */
  function followDetection({ source: detected, target, detections }) {
    if (languages.target.value !== target) languages.choose("", target);
    languages.detect(detections.length ? detected : null);
    changeFragment({ t: target });
  }

  function sentenceAt(number) {
    const { source: from, target, sentences } = view.last;
    return { ...sentences[number], source: from, target, isOnly: sentences.length === 1 };
  }

  /** Show other translations, and the inside, of the sentence in which the reader is. */
  function showSentence() {
    const count = view.last?.sentences.length ?? 0;
    if (!count) return;
    const sentence = sentenceAt(Math.min(active ?? count - 1, count - 1));
    parts.wordings.show(sentence);
    parts.inside.show({ text: sentence.text, translation: sentence.translation.text, source: sentence.source, target: sentence.target });
  }

  /** Follow the reader to the sentence around a place in the text. */
  function follow(place) {
    if (!view.last || view.last.text !== source.field.value) {
      active = null;
      return;
    }
    const found = view.last.sentences.findIndex(({ start, end }) => start <= place && place <= end);
    if (found < 0 || found === active) return;
    active = found;
    showSentence();
  }

  function choose({ text }, translation) {
    const state = view.last;
    const number = state.sentences.findIndex((each) => each.text === text);
    for (const each of state.sentences.filter((one) => one.text === text)) {
      each.translation = { ...each.translation, ...translation, warnings: [] };
      choices.set(keyOf(state, text), each.translation);
    }
    active = number;
    output.show(state);
    parts.notices.show(state);
    showSentence();
  }

  function chooseSource(code) {
    const { target } = languages.chosen();
    languages.choose(code, languages.targetsOf(code).includes(target) ? target : languages.targetsOf(code)[0]);
    want(true);
  }

  function swap() {
    active = null;
    source.set(output.text() || source.field.value);
  }

  addEventListener("online", () => shownKind === "offline" && live.again());
  return view;
}

const keyOf = ({ source, target }, text) => `${source}>${target}:${text}`;

/** Say what is wrong to screen readers at once. */
function alertTo(text) {
  const region = document.getElementById("alert");
  if (region.textContent !== text) region.textContent = text;
}

// Translates a text while it is being typed: 150 ms after the last key, one request at a time, and an answer to an older
// text is dropped. Translations of sentences are kept, so that only new sentences are asked for.
//
// It has no DOM. `changed(state)` is called with what is known:
//   { phase: "empty" }
//   { phase: "waiting", since }                           a translation will come
//   { phase: "done", text, source, target, isDetected, detections, sentences }
//                     a sentence is { text, start, end, translation } (translation: an answer of /v1/translate)
//   { phase: "problem", problem, retryAt, text }          see problems.js; retryAt: when it is tried again, or null

import { findProblem } from "./problems.js";
import { divide } from "./sentences.js";

const DELAY = 150; // milliseconds after the last key
const KEPT = 500; // translated sentences
const ENOUGH = 60; // characters that show the language of a text,
const SURE = 95; // if the confidence is at least this, in percent

/** Make a translator. `ask(path, body, signal)` posts a body; `limits` are those of the server. */
export function makeLiveTranslation(ask, limits, changed) {
  const known = makeCache(KEPT);
  const detected = { text: null, languages: [], isSure: false }; // the last answer
  let wanted = null; // { text, source, target }; the source is null if the language is to be detected
  let running = null; // what ends the present request
  let timer = 0;
  let failures = 0;
  let before = null; // the last problem, until a translation has come
  let since = 0;

  /** Translate a text; at once if the reader has finished a sentence, pasted or chosen a language. */
  function want(request, { isUrgent = false } = {}) {
    clearTimeout(timer);
    if (!before || before.seconds === null) failures = 0; // the reader's own change is a new attempt
    wanted = request;
    if (!request.text.trim()) {
      stop();
      changed({ phase: "empty" });
      return;
    }
    since ||= Date.now();
    changed({ phase: "waiting", since });
    timer = setTimeout(run, isUrgent ? 0 : DELAY);
  }

  /** Give up the present request, and do not try again. */
  function stop() {
    clearTimeout(timer);
    running?.abort();
    running = null;
    since = 0;
  }

  function again() {
    if (wanted) want(wanted, { isUrgent: true });
  }

  async function run() {
    running?.abort();
    const ended = (running = new AbortController());
    const request = wanted;
    const detections = []; // known even if the translation fails
    try {
      const found = await translate(request, detections, ended.signal);
      if (running !== ended) return;
      failures = 0;
      before = null;
      since = 0;
      running = null;
      changed({ phase: "done", ...request, ...found });
    } catch (error) {
      if (running !== ended) return;
      running = null;
      since = 0;
      fail(error, { ...request, source: request.source ?? detections[0]?.language ?? null });
    }
  }

  function fail(error, request) {
    const problem = findProblem(error, (failures += 1), { ...request, ...error.found }, before);
    before = problem;
    const retryAt = problem.seconds === null ? null : Date.now() + 1000 * problem.seconds;
    if (retryAt !== null) timer = setTimeout(run, 1000 * problem.seconds);
    changed({ phase: "problem", problem, retryAt, text: request.text });
  }

  async function translate({ text, source, target }, detections, signal) {
    if (!source) detections.push(...(await detect(text, signal)));
    const languages = limits.route(source ?? detections[0]?.language ?? null, target);
    const sentences = divide(text);
    const prefix = `${languages.source}>${languages.target}:`;
    const found = new Map(sentences.map((each) => [each.text, known.get(prefix + each.text)]));
    const missing = [...found.keys()].filter((each) => !found.get(each));
    for (let first = 0; first < missing.length; first += limits.batch) {
      const some = missing.slice(first, first + limits.batch);
      const { translations } = await ask("v1/translate", { text: some, ...languages, words: true }, signal);
      translations.forEach((translation, i) => {
        found.set(some[i], translation);
        known.set(prefix + some[i], translation);
      });
    }
    return { ...languages, isDetected: !source, detections, sentences: sentences.map((each) => ({ ...each, translation: found.get(each.text) })) };
  }

  /** The languages in which a text may be. A long text whose beginning is known stays in its language. */
  async function detect(text, signal) {
    const beginning = text.slice(0, ENOUGH);
    const isKnown = detected.text === text || (detected.isSure && detected.text.startsWith(beginning) && beginning.length === ENOUGH);
    if (!isKnown) {
      const [languages] = (await ask("v1/detect", { text }, signal)).detections;
      Object.assign(detected, { text, languages, isSure: languages[0]?.confidence >= SURE });
    }
    return detected.languages;
  }

  return { want, stop, again };
}

/** A map that forgets what was not used for the longest time. */
export function makeCache(size) {
  const entries = new Map();
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size > size) entries.delete(entries.keys().next().value);
    },
  };
}

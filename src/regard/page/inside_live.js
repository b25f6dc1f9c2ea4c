// "Inside" on the page of a server: the inspection of one sentence, while it is waited for, and if it cannot be had.
//
// What is drawn stays, dimmed, until the next drawing is there. The first look after a while starts a process on the
// server, which takes some seconds, and the page says so.

import { changeFragment, inFragment } from "./fragment.js";
import { announce, make, makeButton } from "./dom.js";
import { makeIcon } from "./icons.js";
import { mount } from "./inside.js";
import { problemOf } from "./look_problems.js";
import { readSelection, selectionText } from "./selection.js";
import { makeStrip } from "./strip.js";
import { t } from "./strings.js";

const ASK = 40; // tokens; a longer text is drawn only when the reader asks for it
const QUIET = 300; // milliseconds before the page says that it waits
const PATIENT = 1200; // milliseconds before it says why
const shells = new WeakMap();

/**
 * Show the inspection of a provider in `container`; a later call with the same container replaces it. With `tour`, the
 * tour starts as soon as it is shown. `heading` is an element for the title and the buttons.
 */
export async function mountInside(container, provider, about) {
  if (!shells.has(container) || !container.querySelector(".inside-root")) shells.set(container, makeShell(container));
  await shells.get(container)(provider, about);
}

function makeShell(container) {
  const root = make("div", { className: "inside-root" });
  const strip = makeStrip();
  strip.element.id = "look-strip";
  const waiting = make("p", { className: "look-waiting note", hidden: true });
  container.replaceChildren(waiting, strip.element, root);
  const linked = readSelection(inFragment("inside"));
  let turn = 0;
  let isTouring = false;

  /** Do something that asks the server; meanwhile, say that the page waits, and afterwards, what went wrong. */
  async function attempt(task, provider, failures = 0) {
    const mine = (turn += 1);
    let isDone = false;
    const isCurrent = () => mine === turn;
    const isWaiting = () => isCurrent() && !isDone;
    strip.hide();
    const timers = [
      setTimeout(() => isWaiting() && showWaiting(t("look.waiting")), QUIET),
      setInterval(async () => {
        const found = await provider.state?.().catch(() => null);
        if (isWaiting() && found) showWaiting(reasonOf(found));
      }, PATIENT),
    ];
    try {
      return await task();
    } catch (error) {
      if (isCurrent()) showProblem(error, failures, () => isCurrent() && attempt(task, provider, failures + 1));
      return null;
    } finally {
      isDone = true;
      timers.forEach(clearInterval);
      if (isCurrent()) hideWaiting();
    }
  }

  function showWaiting(text) {
    if (waiting.textContent !== text) announce(text);
    waiting.textContent = text;
    waiting.hidden = false;
    root.classList.add("stale");
  }

  function hideWaiting() {
    waiting.hidden = true;
    waiting.textContent = "";
    root.classList.remove("stale");
  }

  function showProblem(error, failures, again) {
    const { kind, icon, seconds, message } = problemOf(error, failures);
    const until = seconds === null ? null : Date.now() + seconds * 1000;
    const kept = root.childElementCount ? ` ${t("look.kept")}` : "";
    const timer = until && setTimeout(again, seconds * 1000);
    const retry = () => { clearTimeout(timer); again(); };
    strip.show({
      kind, icon, until, reason: t(`look.${kind}`),
      text: until ? (left) => t("look.again.in", { seconds: left }) + kept : `${message}${kept}`,
      actions: kind === "refused" ? [] : [[t("look.again"), retry]],
    });
    if (kind === "offline") addEventListener("online", retry, { once: true });
    announce(`${t(`look.${kind}`)} ${until ? "" : message}`);
  }

  return async function show(provider, about) {
    const { text, tour } = about;
    isTouring ||= Boolean(tour);
    if (inFragment("inside") !== null && inFragment("q") !== text) changeFragment({ inside: null });
    const { state: selection, extra } = linked;
    const start = async () => {
      const isLinked = inFragment("inside") !== null && extra.without;
      const first = isLinked ? await provider.look({ without: extra.without, instead: extra.instead }) : provider;
      try {
        return await draw(first, selection);
      } catch (error) {
        if (error.status !== 422) throw error;
        // The model may not read the given translation as it was written.
        return draw(await first.look({ target: null }), selection);
      }
    };
    const draw = (first, chosen = {}) => mount(root, first, {
      ask: isTouring ? Infinity : ASK,
      selection: chosen,
      attempt: (task) => attempt(task, first),
      open: (changes) => attempt(async () => draw(await first.look(changes)), first),
      actions: (context) => about.heading.replaceChildren(make("h2", { textContent: t("inside") }), ...makeActions(context, about)),
    });
    const context = await attempt(start, provider);
    if (context && extra.compare && inFragment("inside") !== null) context.compare(extra.compare);
    if (context && isTouring) {
      isTouring = false;
      context.tour?.start();
    }
  };
}

function reasonOf({ state, waiting }) {
  if (state !== "running") return t("look.starting");
  return waiting > 1 ? t("look.ahead", { count: waiting - 1 }) : t("look.waiting");
}

/** The buttons that keep what is shown: as a link, and as a file. */
function makeActions(context, { text, source, target }) {
  const { inspection, provider, state } = context;
  const said = make("span", { className: "small look-said", role: "status" });
  const chosen = () => selectionText(state, { without: inspection.facts.without, instead: inspection.facts.instead, compare: context.compared });
  const link = makeButton("", "plain", async () => {
    changeFragment({ s: source, t: target, q: text, inside: chosen() });
    const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    said.textContent = t(isCopied ? "link.copied" : "link.address");
  }, { id: "copy-link" });
  link.append(makeIcon("link"), t("link.copy"));
  const save = makeButton("", "plain", async () => {
    save.disabled = true;
    said.textContent = t("save.wait");
    try {
      offer(await provider.page(inspection.maps.get(state.address)?.head ? state.address : null), chosen(), text);
      said.textContent = t("save.done");
    } catch (error) {
      said.textContent = error.message;
    }
    save.disabled = false;
  }, { id: "save-page" });
  save.append(makeIcon("file"), t("save"));
  return [link, save, said];
}

/** Give the reader a page file, which shows the same selection when it is opened. */
function offer(page, selection, text) {
  const chosen = page.replace("<body>", `<body data-selection="${selection.replaceAll("&", "&amp;")}">`);
  const name = text.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 40).replace(/^-|-$/g, "");
  const link = make("a", { href: URL.createObjectURL(new Blob([chosen], { type: "text/html" })), download: `regard-${name}.html` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

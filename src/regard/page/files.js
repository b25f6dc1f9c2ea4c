// Files that are opened or dropped. A short text is put into the field; other files are translated by the server, and
// the reader gets a file back.

import { make } from "./dom.js";
import { t } from "./strings.js";
import { ask, ServerError } from "./server_client.js";

const TEXT = /\.(txt|text)$/i;

/** Make what opens files. `suffixes` are those that the server translates; the other arguments say what to do. */
export function makeFiles({ suffixes, charLimit, pair, setText, strip, area }) {
  const input = make("input", { type: "file", hidden: true, accept: suffixes.join(",") });
  input.addEventListener("change", () => {
    if (input.files[0]) take(input.files[0]);
    input.value = "";
  });
  const hasFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  area.addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    area.classList.add("dropping");
  });
  area.addEventListener("dragleave", (event) => !area.contains(event.relatedTarget) && area.classList.remove("dropping"));
  area.addEventListener("drop", (event) => {
    area.classList.remove("dropping");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });

  async function take(file) {
    if (!suffixes.some((each) => file.name.toLowerCase().endsWith(each))) {
      strip.show({ kind: "file", icon: "file", reason: t("file.refused", { name: file.name }), text: t("file.possible", { kinds: suffixes.join(", ") }), actions: [[t("strip.close"), strip.hide]] });
      return;
    }
    const text = TEXT.test(file.name) ? await textOf(file) : null;
    if (text !== null && [...text].length <= charLimit) setText(text);
    else await send(file);
  }

  async function send(file) {
    const ended = new AbortController();
    strip.show({ kind: "file", icon: "clock", reason: t("file.pending", { name: file.name }), text: t("file.pending.next"), actions: [[t("file.stop"), () => { ended.abort(); strip.hide(); }]] });
    const { source, target } = pair();
    const form = new FormData();
    form.append("file", file);
    form.append("source", source ?? "auto");
    form.append("target", target);
    try {
      const { translatedFileUrl: address } = await ask("translate_file", form, ended.signal);
      const name = file.name.replace(/(\.[^.]+)$/, `_${target}$1`); // as the server names it
      const link = make("a", { className: "button main", href: `download_file/${address.split("/").at(-1)}`, download: name, textContent: t("file.save", { name }) });
      strip.show({ kind: "file", icon: "file", reason: t("file.done"), text: "", extra: [link], actions: [[t("strip.close"), strip.hide]] });
    } catch (error) {
      if (ended.signal.aborted) return;
      const message = error instanceof ServerError && error.status ? error.message : t("problem.offline");
      strip.show({ kind: "file", icon: "alert", reason: t("file.failed", { name: file.name }), text: message, actions: [[t("problem.again"), () => send(file)], [t("strip.close"), strip.hide]] });
    }
  }

  return { input, open: () => input.click() };
}

/** The text of a file, or null if it is not in UTF-8. */
async function textOf(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()).replaceAll("\r\n", "\n");
  } catch {
    return null;
  }
}

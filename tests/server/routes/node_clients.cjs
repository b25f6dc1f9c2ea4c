// Calls every method of the JavaScript clients that translates, detects, lists, counts or handles files, and prints the
// results as JSON. Arguments: the URL of the server, the folder of the packages, and a folder for files.

const fs = require("node:fs");
const path = require("node:path");
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const [url, packages, folder] = process.argv.slice(2);
const packaged = createRequire(path.join(packages, "package.json"));
const texts = ["I am tired.", "Where is the cat?"];

async function translate() {
  const { default: translate } = await import(pathToFileURL(packaged.resolve("translate")));
  const options = { from: "en", to: "fr", engine: "libre", url: `${url}/translate` };
  const [open, keyed] = [translate.Translate(options), translate.Translate({ ...options, key: "k1" })];
  return [await open(texts[0]), await keyed(texts[1])];
}

async function libretranslate() {
  const { translate } = packaged("libretranslate");
  const options = { query: texts[0], target: "fr", apiurl: url };
  return [await translate({ ...options, source: "en" }), await translate({ ...options, source: "auto", apiKey: "k1" })];
}

async function libretranslateTs() {
  const { libreTranslate } = packaged("libretranslate-ts");
  libreTranslate.setApiEndpoint(url);
  return {
    languages: await libreTranslate.listLanguages(),
    detected: await libreTranslate.detect(texts[0]),
    translated: await libreTranslate.translate(texts[0], "en", "fr"),
    alternatives: await libreTranslate.translate(texts[0], "en", "fr", 2),
    wrong: await libreTranslate.translate(texts[0], "en", "zz"),
  };
}

async function translateTools() {
  const unstable = "@translate-tools/core/translators/unstable/LibreTranslateTranslator";
  const { LibreTranslateTranslator } = packaged(unstable);
  const translator = new LibreTranslateTranslator({ apiHost: `${url}/translate`, apiKey: "k1" });
  return [await translator.translate(texts[0], "en", "fr"), await translator.translateBatch(texts, "en", "fr")];
}

async function deepl() {
  const { Translator } = packaged("deepl-node");
  const client = new Translator("k1", { serverUrl: url });
  fs.writeFileSync(path.join(folder, "in.txt"), texts.join("\n"));
  const status = await client.translateDocument(path.join(folder, "in.txt"), path.join(folder, "out.txt"), null, "fr");
  return {
    translated: await client.translateText(texts, null, "fr"),
    tags: await client.translateText("I am <b>tired</b>.", "en", "fr", { tagHandling: "html" }),
    sources: await client.getSourceLanguages(),
    targets: await client.getTargetLanguages(),
    usage: await client.getUsage(),
    glossaries: await client.listGlossaries(),
    pairs: await client.getGlossaryLanguagePairs(),
    document: status,
    file: fs.readFileSync(path.join(folder, "out.txt"), "utf8"),
  };
}

async function main() {
  const clients = { translate, libretranslate, libretranslateTs, translateTools, deepl };
  const results = {};
  for (const [name, call] of Object.entries(clients)) results[name] = await call();
  process.stdout.write(JSON.stringify(results));
}

main();

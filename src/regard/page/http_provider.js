// The provider of a page with a server: everything is asked for when it is needed.

import { remembered, unpack, unpackAll, unpackEffects } from "./provider.js";

const LONG = 200; // characters; the maps of a longer text are only asked for when they are drawn

/**
 * Make a provider of the inspection that a request describes: { text, target, without, instead, and what else the server
 * needs }. `send(body)` posts a body as JSON and returns the answer, or throws an error whose message can be shown. The
 * body is the request with `parts` ("facts", "maps", "opening", "effects", "page") and `vectors` (addresses), and the answer has
 * these as members, in the form that look_data.py gives them. `askState()` returns whether the server has started what
 * answers: { state: "stopped", "starting" or "running", waiting: a number of requests }.
 */
export function makeHttpProvider(request, send, askState = null) {
  // What the model writes without a head is its own translation, not the given one.
  const sent = request.without ? { ...request, target: null } : request;
  const ask = (parts, vectors = []) => send({ ...sent, parts, vectors });
  const first = remembered(() => ask(request.text.length > LONG ? ["facts"] : ["facts", "maps"]));
  const later = remembered(() => ask(["maps"]));
  const effects = remembered(async () => {
    const answer = await ask(["effects"]);
    return answer.effects ? unpackEffects(answer.effects) : null;
  });
  return {
    facts: async () => (await first("")).facts,
    map: remembered(async (address) => unpack(((await first("")).maps ?? (await later("")).maps)[address])),
    vectors: remembered(async (address) => {
      const { vectors } = await ask([], [address]);
      return vectors?.[address] && Object.keys(vectors[address]).length ? unpackAll(vectors[address]) : null;
    }),
    holds: () => true,
    opening: remembered(async () => (await ask(["opening"])).opening),
    effects: () => effects(""),
    page: async (address) => (await ask(["page"], address ? [address] : [])).page,
    state: askState,
    refuses: () => null,
    // A translation that was given belongs to its text, and weights that replace others belong to their head.
    look: async (changes) => makeHttpProvider({ ...request, ...("text" in changes ? { target: null } : {}), instead: null, ...changes }, send, askState),
  };
}

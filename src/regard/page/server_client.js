// Asks the server that the page comes from. Addresses are relative, so that a server may be offered under a path.

const stored = { key: sessionStorage.getItem("regard.key") };

/** Why the server did not answer: the HTTP status (0 if there was no connection), a code, and when to try again. */
export class ServerError extends Error {
  constructor(status, { code = "", message = "" } = {}, retryAfter = null) {
    super(message);
    Object.assign(this, { status, code, retryAfter });
  }
}

/** Use a key for all requests from now on, as long as this tab is open. */
export function useKey(key) {
  stored.key = key;
  sessionStorage.setItem("regard.key", key);
}

/** Ask for an address; with a body, post it as a form, if it is one, or as JSON. Return the answer, or throw a `ServerError`. */
export async function ask(path, body = null, signal = null) {
  const headers = stored.key ? { Authorization: `Bearer ${stored.key}` } : {};
  const response = await answered(fetch(path, { ...optionsOf(body, headers), signal }), signal);
  const answer = await response.json().catch(() => ({}));
  const problem = typeof answer.error === "string" ? { message: answer.error } : answer.error;
  if (!response.ok) throw new ServerError(response.status, problem, Number(response.headers.get("Retry-After")) || null);
  return answer;
}

function optionsOf(body, headers) {
  if (body === null) return { headers };
  if (body instanceof FormData) return { method: "POST", headers, body };
  return { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

async function answered(request, signal) {
  try {
    return await request;
  } catch (error) {
    throw signal?.aborted ? error : new ServerError(0);
  }
}

// What can go wrong with a translation, and what the page does then. A problem has a `kind`, which names its texts in
// page_texts.js, and `seconds` until it is tried again by itself, or null.

const OVERLOADED_TRIES = 3;

/** The problem that an error of a request means, after a number of failures one after the other. */
export function findProblem(error, failures, request, before = null) {
  const { status, code, retryAfter } = error;
  const found = (kind, seconds = null) => ({ kind, seconds, message: error.message, ...request });
  if (error.kind) return found(error.kind);
  // A server that restarts takes no connection for a moment.
  if (code === "draining" || (status === 0 && before?.kind === "draining" && failures < 10)) return found("draining", 2);
  if (status === 0) return found("offline", Math.min(30, 2 ** failures));
  if (status === 401 || status === 403) return found(status === 401 ? "key" : "key.wrong");
  if (code === "quota_exceeded") return found("quota");
  if (status === 429) return found("overloaded", failures > OVERLOADED_TRIES ? null : (retryAfter ?? 5));
  if (status === 404 && code === "unknown_pair") return found("pair");
  if (status === 413) return found("long");
  return found("failing");
}

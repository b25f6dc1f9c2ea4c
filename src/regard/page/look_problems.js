// Why a look inside could not be had, and when the page tries again by itself.

const TRIES = 3; // by itself, if the server is busy

/** What an error means: its kind, which names its text, its icon, and the seconds until it is tried again, or null. */
export function problemOf({ status, code, retryAfter, message }, failures) {
  const found = (kind, icon, seconds = null) => ({ kind, icon, seconds, message });
  if (status === 0) return { ...found("offline", "offline"), message: "" };
  if (status === 429 || code === "draining" || (status === 503 && retryAfter)) {
    return found(status === 429 ? "busy" : "ended", "clock", failures < TRIES ? (retryAfter ?? 3) : null);
  }
  if (status === 504) return found("slow", "clock");
  if (status === 413 || status === 422) return found("refused", "long");
  return found("failing", "alert");
}

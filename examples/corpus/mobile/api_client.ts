// Calls from HarborApp to MobileBFF, with the shared error handling pattern:
// classify the failure, retry what is transient and safe, wrap the rest.

export type ErrorClass = "transient" | "permanent" | "unknown";

export class ApiError extends Error {
  constructor(
    readonly kind: ErrorClass,
    readonly code: string,
    readonly traceId: string,
    options?: ErrorOptions,
  ) {
    super(`${code} (${kind})`, options);
  }
}

const TRANSIENT_STATUS = new Set([429, 502, 503, 504]);
const BASE_MS = 100;
const CAP_MS = 5000;
const MAX_RETRIES = 4;

async function callOnce<T>(path: string, init: RequestInit, traceId: string): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, signal: AbortSignal.timeout(8000) });
  } catch (cause) {
    const timedOut = cause instanceof DOMException && cause.name === "TimeoutError";
    const kind = timedOut ? "unknown" : "transient";
    throw new ApiError(kind, timedOut ? "NO_ANSWER" : "OFFLINE", traceId, { cause });
  }
  if (TRANSIENT_STATUS.has(answer.status)) {
    throw new ApiError("transient", "BUSY", traceId);
  }
  if (!answer.ok) {
    const body = await answer.json().catch(() => ({ code: "REQUEST_REFUSED" }));
    throw new ApiError("permanent", body.code, traceId);
  }
  return (await answer.json()) as T;
}

export async function call<T>(path: string, init: RequestInit, traceId: string): Promise<T> {
  const headers = new Headers(init.headers);
  const safe = (init.method ?? "GET") === "GET" || headers.has("Idempotency-Key");
  for (let retry = 0; ; retry++) {
    try {
      return await callOnce<T>(path, init, traceId);
    } catch (error) {
      const again = error instanceof ApiError && error.kind === "transient" && safe;
      if (!again || retry === MAX_RETRIES) throw error;
      const pause = Math.random() * Math.min(CAP_MS, BASE_MS * 2 ** retry);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** One call before it is sent, and what is decided about it without sending. */

const REPEATABLE = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
const TRANSIENT = new Set([502, 503, 504]);
const FIRST_PAUSE_SECONDS = 0.2;
/** How much longer than a long poll its answer may take. */
const SLACK_SECONDS = 15;

export type Parameter = string | number | boolean | undefined;

export interface CallParts {
  query?: Record<string, Parameter>;
  body?: unknown;
  headers?: Record<string, Parameter>;
  /** What the answer's body is. */
  reads?: "json" | "bytes";
  seconds?: number;
}

/** Made by a function of `operations`; what it returns is sent by a `Client`, which answers with its type. */
export class Call<Answer> {
  /** Of the type only: what `send` answers with. */
  declare readonly answer: Answer;

  constructor(
    readonly method: string,
    readonly path: string,
    readonly parts: CallParts = {},
  ) {}

  /** The same, given this long. */
  within(seconds: number): Call<Answer> {
    return new Call(this.method, this.path, { ...this.parts, seconds });
  }

  /** The same with other query parameters. */
  withQuery(query: Record<string, Parameter>): Call<Answer> {
    return new Call(this.method, this.path, { ...this.parts, query });
  }

  /** Whether sending it twice is as good as once: by its method, or because the body carries a key for that. */
  get isRepeatable(): boolean {
    const body = this.parts.body as { idempotency_key?: unknown } | undefined;
    return REPEATABLE.has(this.method) || (body?.idempotency_key ?? undefined) !== undefined;
  }

  /** The path with its query. */
  get target(): string {
    const given = Object.entries(this.parts.query ?? {}).filter(([, value]) => value !== undefined);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return text ? `${this.path}?${text}` : this.path;
  }

  /** How long the answer may take, where that differs from the client's own time-out. */
  get seconds(): number | undefined {
    const wait = this.parts.query?.["wait"];
    return this.parts.seconds ?? (typeof wait === "number" && wait > 0 ? wait + SLACK_SECONDS : undefined);
  }
}

/**
 * How long a call may wait to be sent again. What is refused for coming too fast was not carried out and is always sent
 * again, when the API says so; what failed on the way only where that does no harm.
 */
export interface Patience {
  seconds: number;
  retries: number;
}

/** Seconds until the next try; undefined: this was the last. `status` undefined: there was no answer. */
export function pauseBefore(
  patience: Patience,
  call: Call<unknown>,
  tried: number,
  waited: number,
  status: number | undefined,
  after: number | undefined,
): number | undefined {
  let pause: number;
  if (status === 429) {
    pause = after || 1;
  } else if (tried > patience.retries || !call.isRepeatable || (status !== undefined && !TRANSIENT.has(status))) {
    return undefined;
  } else {
    // Full jitter, so that clients that failed together do not come back together.
    pause = after || Math.random() * FIRST_PAUSE_SECONDS * 2 ** tried;
  }
  return waited + pause <= patience.seconds ? pause : undefined;
}

/**
 * One part of a path, whatever stands in it. Throws for what would name another resource (RFC 3986, section 5.2.4):
 * nothing, and dots.
 */
export function segment(text: string): string {
  if (text === "" || text === "." || text === "..") {
    throw new TypeError(`${JSON.stringify(text)} names no resource`);
  }
  return encodeURIComponent(text);
}

/** A path of several parts. */
export function segments(text: string): string {
  return text.split("/").map(segment).join("/");
}

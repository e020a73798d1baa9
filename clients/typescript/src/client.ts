import { Call, pauseBefore, type Patience } from "./call.js";
import { errorOf, retryAfter, UnreachableError } from "./errors.js";
import { createAction, getAction } from "./operations.js";
import type { ActionDetailAnswer } from "./types.js";

/** The longest that the API holds one poll. */
const POLL_SECONDS = 30;
const UNDECIDED = new Set(["pending_approval"]);

export interface ClientOptions {
  /** A person's token, or an administrator's key. */
  token?: string;
  /** An agent's key. */
  agentKey?: string;
  patience?: Partial<Patience>;
  timeoutSeconds?: number;
  /** Another implementation of `fetch`. */
  fetch?: typeof fetch;
  sleep?: (seconds: number) => Promise<void>;
}

export interface Submission {
  tool: string;
  operation: string;
  params: Record<string, unknown>;
  context?: Record<string, unknown>;
  /** One of its own is made where none is given, so that a repetition is the same action. */
  idempotencyKey?: string;
  /** How long to wait for a person, by long polls. */
  waitSeconds?: number;
}

interface Page {
  data: unknown[];
  pagination?: { next_cursor?: string | null; offset?: number; total?: number };
}

type EntryOf<Answer> = Answer extends { data: (infer Entry)[] } ? Entry : never;

/** A client of Headgate's API: `await new Client(url, { agentKey }).send(operations.getAction("act_…"))`. */
export class Client {
  readonly #url: string;
  readonly #headers: Record<string, string> = { accept: "application/json" };
  readonly #patience: Patience;
  readonly #timeoutSeconds: number;
  readonly #fetch: typeof fetch;
  readonly #sleep: (seconds: number) => Promise<void>;

  constructor(url: string, options: ClientOptions = {}) {
    if (options.token !== undefined && options.agentKey !== undefined) {
      throw new TypeError("Give a token or an agent's key, not both. The API refuses two credentials.");
    }
    this.#url = url.replace(/\/+$/, "");
    if (options.token !== undefined) this.#headers["authorization"] = `Bearer ${options.token}`;
    if (options.agentKey !== undefined) this.#headers["x-agent-key"] = options.agentKey;
    this.#patience = { seconds: 60, retries: 3, ...options.patience };
    this.#timeoutSeconds = options.timeoutSeconds ?? 60;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#sleep = options.sleep ?? ((seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000)));
  }

  /** Rejects with an `ApiError` (a class for each status) or an `UnreachableError`. */
  async send<Answer>(call: Call<Answer>): Promise<Answer> {
    const answer = await this.answer(call);
    if (!answer.ok) throw await errorOf(answer);
    try {
      if (call.parts.reads === "bytes") return new Uint8Array(await answer.arrayBuffer()) as Answer;
      const text = await answer.text();
      return (text ? JSON.parse(text) : undefined) as Answer;
    } catch (error) {
      throw error instanceof SyntaxError
        ? new UnreachableError(`${answer.url} did not answer with JSON. Is this the address of Headgate's API?`, { cause: error })
        : this.#unreachable(error);
    }
  }

  /** The last answer, whatever it says, once there is nothing to wait for. Rejects with an `UnreachableError`. */
  async answer(call: Call<unknown>): Promise<Response> {
    let waited = 0;
    for (let tried = 1; ; tried += 1) {
      let answer: Response | undefined;
      let failure: unknown;
      try {
        answer = await this.#request(call, AbortSignal.timeout((call.seconds ?? this.#timeoutSeconds) * 1000));
      } catch (error) {
        failure = error;
      }
      if (answer?.ok) return answer;
      const after = answer && retryAfter(answer);
      const pause = pauseBefore(this.#patience, call, tried, waited, answer?.status, after);
      if (pause === undefined) {
        if (answer === undefined) throw this.#unreachable(failure);
        return answer;
      }
      await answer?.body?.cancel();
      await this.#sleep(pause);
      waited += pause;
    }
  }

  /** Every entry of a list, page by page. Rejects as `send`. */
  async *entries<Answer>(call: Call<Answer>): AsyncGenerator<EntryOf<Answer>> {
    let following: Call<Answer> | undefined = call;
    while (following !== undefined) {
      const page = (await this.send(following)) as unknown as Page;
      yield* page.data as EntryOf<Answer>[];
      following = nextPage(following, page);
    }
  }

  /** An answer that comes line by line, as server-sent events do. Rejects as `send`; it is not begun again. */
  async *lines(call: Call<unknown>, signal?: AbortSignal): AsyncGenerator<string> {
    let answer: Response;
    try {
      answer = await this.#request(call, signal);
    } catch (error) {
      throw this.#unreachable(error);
    }
    if (!answer.ok) throw await errorOf(answer);
    if (answer.body === null) return;
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) {
        const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield line.replace(/\r$/, "");
      }
    } catch (error) {
      throw this.#unreachable(error);
    }
    if (rest) yield rest;
  }

  /** An action, decided. A repetition after a broken connection is the same action. */
  async submit(submission: Submission): Promise<ActionDetailAnswer> {
    const { tool, operation, params, context } = submission;
    const action = await this.send(
      createAction({
        tool,
        operation,
        params,
        idempotency_key: submission.idempotencyKey ?? `ts-${crypto.randomUUID()}`,
        ...(context === undefined ? {} : { context }),
      }),
    );
    return this.waitFor(action.id, submission.waitSeconds ?? 0);
  }

  /** The action once it is decided, or as it is when the time is over. */
  async waitFor(actionId: string, seconds: number): Promise<ActionDetailAnswer> {
    const until = performance.now() + seconds * 1000;
    for (;;) {
      const left = (until - performance.now()) / 1000;
      const wait = Math.trunc(Math.min(Math.max(left, 0), POLL_SECONDS));
      const action = (await this.send(getAction(actionId, { wait, expand: "all" }))) as ActionDetailAnswer;
      if (!UNDECIDED.has(action.status) || left <= 1) return action;
    }
  }

  #request(call: Call<unknown>, signal: AbortSignal | undefined): Promise<Response> {
    const headers = { ...this.#headers };
    for (const [name, value] of Object.entries(call.parts.headers ?? {})) {
      if (value !== undefined) headers[name] = String(value);
    }
    const init: RequestInit = { method: call.method, headers };
    if (signal !== undefined) init.signal = signal;
    if (call.parts.body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(call.parts.body);
    }
    return this.#fetch(this.#url + call.target, init);
  }

  #unreachable(error: unknown): UnreachableError {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
    return new UnreachableError(`the API at ${this.#url} does not answer (${reason})`, { cause: error });
  }
}

/** By cursor where the list has one. Undefined: that was the last one. */
function nextPage<Answer>(call: Call<Answer>, page: Page): Call<Answer> | undefined {
  const pagination = page.pagination ?? {};
  const { offset: _, ...kept } = call.parts.query ?? {};
  if (pagination.next_cursor) return call.withQuery({ ...kept, cursor: pagination.next_cursor });
  if ("next_cursor" in pagination || page.data.length === 0) return undefined;
  const reached = (pagination.offset ?? 0) + page.data.length;
  return reached >= (pagination.total ?? 0) ? undefined : call.withQuery({ ...kept, offset: reached });
}

/** What a call can end in: a class for each kind of refusal (docs/reference/errors.md), and one for no answer. */

export interface Refusal {
  status: number;
  code: string;
  details: Record<string, unknown>;
  requestId: string | undefined;
  retryAfterSeconds: number | undefined;
}

/** The API refused. `code` is stable, `message` is for people, `details` name the field and the reason. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;
  /** Under which the service's log has it. */
  readonly requestId: string | undefined;
  /** When to come back, where the API said so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, refusal: Refusal) {
    super(message);
    this.name = new.target.name;
    this.status = refusal.status;
    this.code = refusal.code;
    this.details = refusal.details;
    this.requestId = refusal.requestId;
    this.retryAfterSeconds = refusal.retryAfterSeconds;
  }
}

/** 400: a parameter or the body is malformed. */
export class InvalidError extends ApiError {}
/** 401: the credential is missing, unknown, expired or revoked. */
export class UnauthorizedError extends ApiError {}
/** 403: the credential does not carry this right; or, of an action, a policy or a person said no. */
export class ForbiddenError extends ApiError {}
/** 404: there is no such resource for this credential. */
export class NotFoundError extends ApiError {}
/** 409: the resource's state, or another use of the idempotency key. */
export class ConflictError extends ApiError {}
/** 412: the resource is not the one that If-Match names. */
export class PreconditionFailedError extends ApiError {}
/** 413: the body exceeds its limit. */
export class TooLargeError extends ApiError {}
/** 429, and the client was not to wait any longer. */
export class RateLimitedError extends ApiError {}
/** 500: a defect of the service. */
export class ServerFaultError extends ApiError {}
/** 502, 503, 504: nothing was done; try again. */
export class UnavailableError extends ApiError {}

/** No answer, or one that is not the API's: nobody knows whether the call was carried out. */
export class UnreachableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnreachableError";
  }
}

const CLASSES: Record<number, typeof ApiError> = {
  400: InvalidError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  412: PreconditionFailedError,
  413: TooLargeError,
  429: RateLimitedError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
};

/** The refusal in an answer. Both of the API's shapes of a body are understood. */
export async function errorOf(answer: Response): Promise<ApiError> {
  const status = answer.status;
  const retryAfterSeconds = retryAfter(answer);
  let message = `${answer.url} answered ${status}`;
  let code = "";
  let details: unknown;
  let requestId: unknown = answer.headers.get("x-request-id") ?? undefined;
  try {
    const body = (await answer.json()) as Record<string, unknown>;
    const error = body["error"];
    const told = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : { code: error, ...body };
    if (typeof told["message"] === "string") {
      message = told["message"];
      code = String(told["code"] ?? "");
      details = told["details"];
      requestId = told["requestId"] ?? requestId;
    }
  } catch {
    // Not the API's body: the status is all that is known.
  }
  const kind = CLASSES[status] ?? (status >= 500 ? ServerFaultError : ApiError);
  return new kind(message, {
    status,
    code,
    details: typeof details === "object" && details !== null ? (details as Record<string, unknown>) : {},
    requestId: typeof requestId === "string" ? requestId : undefined,
    retryAfterSeconds,
  });
}

/** Retry-After as seconds (RFC 9110, section 10.2.3); its other form, a date, is not what the API sends. */
export function retryAfter(answer: Response): number | undefined {
  const text = answer.headers.get("retry-after") ?? "";
  return /^[0-9]+$/.test(text) ? Number(text) : undefined;
}

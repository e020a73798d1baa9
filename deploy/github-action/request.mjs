// Asks Headgate whether this workflow may go on, and waits for the answer. No dependencies: Node's own fetch and fs.
//
// The workflow's identity is its OpenID Connect token (docs.github.com/en/actions/reference/security/oidc); the job needs
// `permissions: id-token: write`. The token is exchanged for an agent's key that lives for a quarter of an hour, and is
// exchanged anew while an approval takes longer. Everything that is not a clear yes fails the step.

import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";

const ALLOWED = new Set(["allowed", "approved", "executing", "completed"]);
const WAITING = "pending_approval";
const RETRY_SECONDS = 5;
const REQUEST_SECONDS = 60;

class Refused extends Error {}

function input(env, name) {
  return (env[`INPUT_${name.toUpperCase()}`] ?? "").trim();
}

function required(env, name) {
  const value = input(env, name);
  if (!value) throw new Refused(`the input ${name} is needed`);
  return value;
}

export function escapeData(text) {
  // Workflow commands end at a line's end: what others wrote must begin no command of its own.
  return String(text).replace(/%/g, "%25").replace(/\r/g, "%0D").replace(/\n/g, "%0A");
}

function say(kind, text) {
  process.stdout.write(kind ? `::${kind}::${escapeData(text)}\n` : `${escapeData(text)}\n`);
}

function output(env, name, value) {
  // A delimiter that the value cannot hold (docs: "Multiline strings").
  const delimiter = `headgate_${randomUUID()}`;
  if (env.GITHUB_OUTPUT) appendFileSync(env.GITHUB_OUTPUT, `${name}<<${delimiter}\n${value}\n${delimiter}\n`);
}

function pause(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

async function call(url, options = {}) {
  return fetch(url, { ...options, redirect: "error", signal: AbortSignal.timeout(REQUEST_SECONDS * 1000) });
}

async function problem(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `status ${response.status}`;
  }
}

async function workflowToken(env, audience) {
  const url = env.ACTIONS_ID_TOKEN_REQUEST_URL;
  const bearer = env.ACTIONS_ID_TOKEN_REQUEST_TOKEN;
  if (!url || !bearer) throw new Refused("this job has no identity: give it permissions: id-token: write");
  const asked = new URL(url);
  asked.searchParams.set("audience", audience);
  const response = await call(asked, { headers: { authorization: `Bearer ${bearer}` } });
  if (!response.ok) throw new Error(`GitHub gave no token: status ${response.status}`);
  const { value } = await response.json();
  process.stdout.write(`::add-mask::${value}\n`);
  return value;
}

export class Client {
  constructor(env, connectionUrl, audience) {
    this.env = env;
    this.connectionUrl = connectionUrl;
    this.audience = audience;
    this.api = new URL(connectionUrl).origin;
    this.key = null;
  }

  async signIn() {
    const token = await workflowToken(this.env, this.audience);
    const response = await call(this.connectionUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (response.status === 429 || response.status >= 500) throw new Error(await problem(response));
    if (!response.ok) throw new Refused(await problem(response));
    const { api_key: key } = await response.json();
    process.stdout.write(`::add-mask::${key}\n`);
    this.key = key;
  }

  async ask(path, options = {}) {
    if (this.key === null) await this.signIn();
    const headers = { "x-agent-key": this.key, "content-type": "application/json" };
    let response = await call(this.api + path, { ...options, headers });
    if (response.status === 401) {
      // The key has ended; the workflow is still who it was.
      await this.signIn();
      response = await call(this.api + path, { ...options, headers: { ...headers, "x-agent-key": this.key } });
    }
    if (response.status === 429 || response.status >= 500) {
      const error = new Error(await problem(response));
      error.retryAfter = Number(response.headers.get("retry-after")) || RETRY_SECONDS;
      throw error;
    }
    if (!response.ok) throw new Refused(await problem(response));
    return response.json();
  }
}

async function persist(deadline, attempt) {
  // Until the time is over: what is not refused may yet be answered.
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof Refused) throw error;
      const seconds = error.retryAfter ?? RETRY_SECONDS;
      if (Date.now() + seconds * 1000 >= deadline) throw error;
      say("warning", `${error.message}: trying again in ${seconds} s`);
      await pause(seconds);
    }
  }
}

export async function run(env) {
  const minutes = Number(input(env, "timeout-minutes") || "60");
  if (!(minutes > 0)) throw new Refused("timeout-minutes must be a number above 0");
  const deadline = Date.now() + minutes * 60_000;
  let params;
  try {
    params = JSON.parse(input(env, "params") || "{}");
  } catch {
    throw new Refused("params is no JSON");
  }
  const client = new Client(env, required(env, "connection-url"), input(env, "audience") || "headgate");
  const workflow = {
    repository: env.GITHUB_REPOSITORY,
    ref: env.GITHUB_REF,
    sha: env.GITHUB_SHA,
    run_id: env.GITHUB_RUN_ID,
    run_attempt: env.GITHUB_RUN_ATTEMPT,
    job: env.GITHUB_JOB,
    actor: env.GITHUB_ACTOR,
  };
  // One key for all tries of this step, and another for each run of it: nothing is asked twice.
  const body = JSON.stringify({
    tool: input(env, "tool") || "github_actions",
    operation: required(env, "operation"),
    params,
    context: { workflow },
    idempotency_key: `github-actions ${randomUUID()}`,
  });
  const submitted = await persist(deadline, () => client.ask("/v1/actions", { method: "POST", body }));
  output(env, "action-id", submitted.id);
  output(env, "approval-id", submitted.approval_id ?? "");
  let action = submitted;
  if (action.status === WAITING) say("notice", `Waiting for approval ${action.approval_id}: ${action.decision.reason}`);
  while (action.status === WAITING) {
    const left = Math.floor((deadline - Date.now()) / 1000);
    if (left <= 0) throw new Refused(`nobody decided within ${minutes} minutes; approval ${action.approval_id} stays open`);
    const wait = Math.min(30, left);
    action = await persist(deadline, () => client.ask(`/v1/actions/${submitted.id}?expand=all&wait=${wait}`));
  }
  output(env, "status", action.status);
  if (!ALLOWED.has(action.status)) {
    // What the person wrote who denied it; what a policy denied has no approval.
    throw new Refused(`${action.status}: ${action.approval?.comment ?? action.decision.reason} (${submitted.id})`);
  }
  say("", `${action.status}: ${submitted.id}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    await run(process.env);
  } catch (error) {
    say("error", error.message);
    process.exitCode = 1;
  }
}

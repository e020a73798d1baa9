// How the client waits and repeats, against a server that fails as it is told. The package is the installed one.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { Client, InvalidError, RateLimitedError, UnavailableError, UnreachableError, operations } from "headgate-client";

let server, url;
let answers = [];
let received = [];

before(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    received.push({ method: request.method, url: request.url, headers: request.headers, body: body && JSON.parse(body) });
    const [status, headers, value] = answers.length > 1 ? answers.shift() : answers[0];
    if (status === 0) return request.socket.destroy();
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof value === "string" ? value : JSON.stringify(value));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());
beforeEach(() => {
  received = [];
});

const refusal = (code) => ({ error: { code, message: "no", details: { field: "name" }, requestId: "req_1" } });
const slept = [];
const client = (options = {}) =>
  new Client(url + "/", { agentKey: "hg_test", sleep: async (seconds) => void slept.push(seconds), ...options });

test("a call that came too fast is sent again when the API says so, whatever it is", async () => {
  slept.length = 0;
  answers = [[429, { "retry-after": "7" }, refusal("RATE_LIMITED")], [201, {}, { id: "agt_1" }]];
  assert.equal((await client().send(operations.createAgent({ name: "a" }))).id, "agt_1");
  assert.deepEqual(slept, [7]);
  answers = [[429, { "retry-after": "61" }, refusal("RATE_LIMITED")]];
  await assert.rejects(client().send(operations.listAgents()), (error) => {
    assert.ok(error instanceof RateLimitedError);
    assert.deepEqual([error.status, error.code, error.retryAfterSeconds, error.requestId], [429, "RATE_LIMITED", 61, "req_1"]);
    return true;
  });
});

test("what failed on the way is repeated only where that does no harm", async () => {
  answers = [[503, {}, refusal("SERVICE_UNAVAILABLE")]];
  await assert.rejects(client().send(operations.createAgent({ name: "a" })), UnavailableError);
  assert.equal(received.length, 1);
  received = [];
  await assert.rejects(client().send(operations.listAgents()), UnavailableError);
  assert.equal(received.length, 4);
  received = [];
  answers = [[0], [200, {}, { id: "act_1", status: "allowed" }]];
  const action = await client().submit({ tool: "mail", operation: "send", params: {} });
  assert.equal(action.status, "allowed");
  const [first, second] = received;
  assert.equal(first.method, "POST");
  assert.match(first.body.idempotency_key, /^ts-/);
  assert.deepEqual(first.body, second.body);
});

test("an answer that is not the API's, and none", async () => {
  answers = [[200, { "content-type": "text/html" }, "<html>"]];
  await assert.rejects(client().send(operations.listAgents()), /did not answer with JSON/);
  answers = [[400, {}, "<html>"]];
  await assert.rejects(client().send(operations.listAgents()), (error) => error instanceof InvalidError && /answered 400/.test(error.message));
  const nobody = new Client("http://127.0.0.1:1", { patience: { retries: 0 } });
  await assert.rejects(nobody.send(operations.listAgents()), UnreachableError);
});

test("credentials, query, If-Match and paths are written as the API reads them", async () => {
  answers = [[200, {}, {}]];
  await client().send(operations.listAgents({ status: "active", limit: 2 }));
  assert.equal(received[0].url, "/admin/agents?status=active&limit=2");
  assert.equal(received[0].headers["x-agent-key"], "hg_test");
  await client({ agentKey: undefined, token: "t" }).send(operations.getAgent("a/b?"));
  assert.equal(received[1].url, "/admin/agents/a%2Fb%3F");
  assert.equal(received[1].headers.authorization, "Bearer t");
  assert.throws(() => operations.getAgent(".."), TypeError);
  assert.throws(() => new Client(url, { token: "t", agentKey: "k" }), TypeError);
});

test("a list is read page by page, and a stream line by line", async () => {
  answers = [[200, {}, { data: [1, 2], pagination: { next_cursor: "c" } }], [200, {}, { data: [3], pagination: { next_cursor: null } }]];
  const entries = [];
  for await (const one of client().entries(operations.listAgents({ limit: 2 }))) entries.push(one);
  assert.deepEqual(entries, [1, 2, 3]);
  assert.equal(received[1].url, "/admin/agents?limit=2&cursor=c");
  answers = [[200, { "content-type": "text/event-stream" }, "event: a\r\ndata: {}\n\nlast"]];
  const lines = [];
  for await (const line of client().lines(operations.streamApprovalEvents())) lines.push(line);
  assert.deepEqual(lines, ["event: a", "data: {}", "", "last"]);
});

// Against a running instance: HEADGATE_API_URL, HEADGATE_AGENT_KEY and HEADGATE_TOKEN name it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Client, ConflictError, ForbiddenError, NotFoundError, operations } from "headgate-client";

const { HEADGATE_API_URL: url, HEADGATE_AGENT_KEY: agentKey, HEADGATE_TOKEN: token } = process.env;
const agent = new Client(url, { agentKey });
const person = new Client(url, { token });

test("an action waits for a person, who approves it", async () => {
  const submitted = agent.submit({ tool: "typescript", operation: "send", params: { to: "ana@example.com" }, waitSeconds: 60 });
  let approval;
  while (approval === undefined) {
    for await (const one of person.entries(operations.listApprovals({ status: "pending", limit: 2 }))) {
      if (one.action.tool === "typescript") approval = one;
    }
    if (approval === undefined) await setTimeout(200);
  }
  await person.send(operations.approveApproval(approval.id, { comment: "from a test" }));
  const action = await submitted;
  assert.equal(action.status, "approved");
  assert.equal(action.id, approval.action_id);
});

test("the same idempotency key is the same action, and another request with it is refused", async () => {
  const once = { tool: "typescript", operation: "read_once", params: {}, idempotencyKey: `k-${process.pid}` };
  const [first, second] = [await agent.submit(once), await agent.submit(once)];
  assert.equal(first.id, second.id);
  await assert.rejects(agent.submit({ ...once, params: { other: true } }), ConflictError);
});

test("a refusal has its class, its code and its details", async () => {
  await assert.rejects(agent.send(operations.listApprovals()), (error) => {
    assert.ok(error instanceof ForbiddenError);
    assert.equal(error.name, "ForbiddenError");
    assert.equal(error.details.missing_scope, "approvals:read");
    assert.match(error.requestId, /^req_/);
    return true;
  });
  await assert.rejects(person.send(operations.getAgent("agt_00000000-0000-7000-8000-000000000000")), NotFoundError);
});

test("events arrive as lines", async () => {
  const stop = new AbortController();
  let first;
  for await (const line of person.lines(operations.streamApprovalEvents(), stop.signal)) {
    first = line;
    break;
  }
  stop.abort();
  assert.match(first, /^(event:|:|retry:|id:)/);
});

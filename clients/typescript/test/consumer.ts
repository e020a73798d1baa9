// What a program that uses the types looks like: it is compiled, and not run.
import { Client, ForbiddenError, operations, type AgentAnswer } from "headgate-client";

const client = new Client("http://127.0.0.1:8470", { token: "…" });
const agent: AgentAnswer = await client.send(operations.getAgent("agt_…"));
for await (const one of client.entries(operations.listAgents({ status: "active" }))) {
  const name: string = one.name;
  console.log(name, agent.id);
}
try {
  await client.send(operations.suspendAgent("agt_…", { reason: "looking at it" }));
} catch (refused) {
  if (refused instanceof ForbiddenError) console.log(refused.details["missing_scope"], refused.requestId);
}
// @ts-expect-error a body of another type
await client.send(operations.suspendAgent("agt_…", { reason: 1 }));
// @ts-expect-error no such parameter
operations.listAgents({ colour: "red" });

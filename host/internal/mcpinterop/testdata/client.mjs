// One MCP client: node client.mjs old|new stdio|http COMMAND|URL. Standard input says what
// to do, standard output has what came of it.
import { text } from "node:stream/consumers";

const [sdk, transport, target] = process.argv.slice(2);
const input = JSON.parse(await text(process.stdin));
const old = sdk === "old";

const { Client, ...more } = await import(old ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const { StdioClientTransport } = await import(old ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio");
const { StreamableHTTPClientTransport } = old ? await import("@modelcontextprotocol/sdk/client/streamableHttp.js") : more;

const client = new Client(
  { name: "interop", version: "1" },
  { capabilities: input.answer ? { elicitation: { form: {} } } : {}, versionNegotiation: { mode: "auto" } },
);
const asked = [];
if (input.answer) {
  const method = old ? (await import("@modelcontextprotocol/sdk/types.js")).ElicitRequestSchema : "elicitation/create";
  client.setRequestHandler(method, (request) => {
    asked.push(request.params.message);
    return input.answer;
  });
}
const wire =
  transport === "stdio"
    ? new StdioClientTransport({ command: target, args: input.args, env: process.env, stderr: "inherit" })
    : new StreamableHTTPClientTransport(new URL(target));
let protocol = ""; // the older client tells its transport alone
const told = wire.setProtocolVersion?.bind(wire);
wire.setProtocolVersion = (version) => {
  protocol = version;
  told?.(version);
};
await client.connect(wire);
const results = [];
for (const call of input.calls ?? []) {
  results.push(await (old ? client.callTool(call, undefined, { timeout: 60_000 }) : client.callTool(call, { timeout: 60_000 })));
}
const { tools } = await client.listTools();
protocol = client.getNegotiatedProtocolVersion?.() ?? protocol;
await client.close();
console.log(JSON.stringify({ protocol, tools: tools.map((t) => t.name), results, asked }));

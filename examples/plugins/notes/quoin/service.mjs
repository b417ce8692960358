// What the plugin answers to each method of the protocol.

import { Failure, invalidInput, toWire } from "./errors.mjs";
import { Host } from "./host.mjs";
import { log } from "./log.mjs";
import * as m from "./messages.mjs";
import { decode, encode } from "./protobuf.mjs";
import { problem } from "./schema.mjs";
import { tagged } from "./scope.mjs";

const json = (value) => Buffer.from(JSON.stringify(value));
const parse = (bytes) => (bytes.length ? JSON.parse(bytes) : undefined);

// RESULT is how many bytes of JSON a message may carry: the largest message, less
// some room for what else is in it.
const RESULT = (16 << 20) - (64 << 10);

// DRAIN_MARGIN is how many milliseconds before its deadline a drain answers, so
// that the answer still arrives.
const DRAIN_MARGIN = 50;

// Service is a plugin in its host's hands. A plugin is an object
//
//	{ id, version, description,
//	  configure(config, { dataDir, secrets, protocol, host }), close(),
//	  tools: [{ name, label, description, parameters, output, readOnly, idempotent,
//	            revertible, examples: [{ description, input, output }], async call(input, call) }],
//	  namespaces: [{ id, globalName, description, prompt, requiredTools,
//	                 scope | createScope(run), mappers: { name(args, run) } }] }
//
// whose functions may all be async. A tool gets its input, checked, and a call:
//
//	{ id, idempotencyKey, epoch, run, signal, progress(value),
//	  revertBy(tool, input), irreversible(why) }
//
// A revertible tool calls revertBy before it returns, unless it has changed nothing: a
// call of that tool of the plugin, which is idempotent, undoes this one. It calls
// irreversible if this very call cannot be undone.
// host is the Host, whose services may be used from then on.
//
// A tool returns its result or throws a ToolError. signal is an AbortSignal, aborted
// when the caller gives up or the time is over: a tool must end then.
export class Service {
  constructor(plugin) {
    this.plugin = plugin;
    this.tools = new Map(plugin.tools.map((t) => [t.name, t]));
    this.namespaces = new Map((plugin.namespaces ?? []).map((n) => [n.id, n]));
    this.running = 0;
    this.draining = false;
    this.waiting = []; // functions to call when the last call has ended
    this.host = new Host();
  }

  describe() {
    const { id, version, description, tools, namespaces = [] } = this.plugin;
    return {
      id, version, description,
      tools: tools.map((t) => ({
        ...t,
        parameters: json(t.parameters),
        output: t.output && json(t.output),
        examples: t.examples?.map((e) => ({ ...e, input: json(e.input), output: e.output && json(e.output) })),
      })),
      namespaces: namespaces.map((n) => ({ ...n, scope: n.scope && json(tagged(n.scope)) })),
    };
  }

  async configure(request) {
    const { dataDir, secrets, protocol } = request;
    if (protocol < 2) this.host.without();
    try {
      await this.plugin.configure?.(parse(request.config) ?? {}, { dataDir, secrets, protocol: protocol || 1, host: this.host });
    } catch (e) {
      throw new Failure(m.Kind.PLUGIN, "config_refused", `plugin ${this.plugin.id} refuses its configuration: ${e.message}`);
    }
  }

  namespace(id) {
    const n = this.namespaces.get(id);
    if (!n) throw new Failure(m.Kind.INPUT, "unknown_namespace", `plugin ${this.plugin.id} has no namespace "${id}"`);
    return n;
  }

  async createScope(request) {
    const n = this.namespace(request.namespaceId);
    return json(tagged(n.scope ?? await n.createScope(run(request.run))));
  }

  async mapInput(request) {
    const { mappers = {} } = this.namespace(request.namespaceId);
    if (!Object.hasOwn(mappers, request.mapper)) {
      throw new Failure(m.Kind.INPUT, "unknown_mapper", `namespace ${request.namespaceId} has no mapping function "${request.mapper}"`);
    }
    return json(await mappers[request.mapper](request.args.map((a) => parse(a)), run(request.run)));
  }

  // callTool runs one call and returns the event that ends it.
  async callTool(request, timeout, signal, progress) {
    if (this.draining) {
      const e = new Failure(m.Kind.PROCESS, "plugin_draining", `plugin ${this.plugin.id} is stopping and takes no new calls`);
      return { error: toWire(e) };
    }
    this.running++;
    // Not AbortSignal.any: signal may be that of a stream, which outlives many calls,
    // and would remember each of them.
    const end = new AbortController();
    const abandon = () => end.abort(signal.reason);
    signal.addEventListener("abort", abandon);
    if (signal.aborted) abandon();
    let late = false;
    const timer = after(timeout, () => {
      late = true;
      end.abort(new Error("time is up"));
    });
    try {
      let inverse;
      const call = {
        id: request.callId, idempotencyKey: request.idempotencyKey, epoch: request.epoch, run: run(request.run),
        signal: end.signal, progress,
        revertBy(tool, input) { inverse = { tool, input: json(input) }; },
        irreversible(why) { inverse = { impossible: why }; },
      };
      return { result: await this.result(request, call), inverse };
    } catch (e) {
      if (late && !(e instanceof Failure)) {
        e = new Failure(m.Kind.TIMEOUT, "timeout", `tool ${request.tool} ran out of time`);
      } else if (!(e instanceof Failure) && !signal.aborted) {
        log.error(`an unexpected error in tool ${request.tool}`, { stack: String(e?.stack ?? e).slice(0, 8192) });
      }
      return { error: toWire(e, `tool ${request.tool}`) };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abandon);
      this.running--;
      if (this.running === 0) this.waiting.splice(0).forEach((idle) => idle());
    }
  }

  async result(request, call) {
    const tool = this.tools.get(request.tool);
    if (!tool) throw new Failure(m.Kind.INPUT, "unknown_tool", `plugin ${this.plugin.id} has no tool "${request.tool}"`);
    const input = readInput(request.input);
    const wrong = problem(tool.parameters, input);
    if (wrong) throw invalidInput(wrong);
    const result = json(await tool.call(input, call));
    if (result.length > RESULT) {
      throw new Failure(m.Kind.PROTOCOL, "reply_too_large",
        `the result of ${tool.name} has ${result.length} bytes; the limit is ${RESULT}: return less, or a page at a time`);
    }
    return result;
  }

  // drain refuses new calls and waits for the running ones, for a number of
  // milliseconds at most. It returns how many are left.
  async drain(timeout) {
    this.draining = true;
    if (this.running > 0) {
      let timer;
      await new Promise((resolve) => {
        this.waiting.push(resolve);
        timer = after(timeout, resolve);
      });
      clearTimeout(timer);
    }
    return this.running;
  }
}

// after is setTimeout for any number of milliseconds, Infinity included.
function after(timeout, f) {
  const longest = 2 ** 31 - 1; // 25 days; Node takes more for 1 ms
  return timeout > longest ? undefined : setTimeout(f, timeout);
}

// run is a RunContext for the plugin's functions.
function run(r) {
  return r && { ...r, config: parse(r.config) };
}

// readInput reads a tool's input, which the caller made.
function readInput(bytes) {
  try {
    return bytes.length ? parse(bytes) : {};
  } catch {
    throw invalidInput("the input is not JSON");
  }
}

// methods are the paths that a host calls.
export function methods(service, stop) {
  const ours = (name) => `/quoin.plugin.v1.Plugin/${name}`;
  return {
    [ours("Describe")]: unary(m.DescribeRequest, m.DescribeResponse, () => service.describe()),
    [ours("Configure")]: unary(m.ConfigureRequest, m.ConfigureResponse, answer((r) => service.configure(r).then(() => ({})))),
    [ours("CreateScope")]: unary(m.CreateScopeRequest, m.CreateScopeResponse, answer(async (r) => ({ scope: await service.createScope(r) }))),
    [ours("MapInput")]: unary(m.MapInputRequest, m.MapInputResponse, answer(async (r) => ({ input: await service.mapInput(r) }))),
    [ours("CallTool")]: (call) => callTool(service, call),
    [ours("CallTools")]: (call) => callTools(service, call),
    [ours("HostServices")]: (call) => service.host.serve(call),
    [ours("Health")]: unary(m.HealthRequest, m.HealthResponse, () => ({ runningCalls: service.running })),
    [ours("Drain")]: unary(m.DrainRequest, m.DrainResponse, async (_, call) => ({ runningCalls: await service.drain(call.timeout - DRAIN_MARGIN) })),
    // go-plugin's way of saying that the process is to end. It also offers
    // plugin.GRPCStdio, plugin.GRPCBroker and grpc.health.v1.Health, none of which
    // a host of Quoin needs: that they are not implemented is answer enough.
    "/plugin.GRPCController/Shutdown": unary({}, {}, () => { setImmediate(stop); return {}; }),
  };
}

// unary serves a method with one request and one response.
function unary(requestType, responseType, answer) {
  return async (call) => {
    const request = decode(requestType, await call.only());
    await call.send(encode(responseType, await answer(request, call)));
  };
}

// answer puts a failure into the response's error field, where the host reads it.
function answer(f) {
  return async (request) => {
    try {
      return await f(request);
    } catch (e) {
      return { error: toWire(e, "the plugin") };
    }
  };
}

// callTool serves one call: progress, then a result or an error.
async function callTool(service, call) {
  await oneCall(service, call, decode(m.CallToolRequest, await call.only()), call.timeout);
}

// callTools serves calls one after the other on one stream, which saves the host
// the cost of a stream per call. Each has a number, and a time limit of its own.
async function callTools(service, call) {
  for await (const message of call) {
    const { call: request, timeoutUs, number } = decode(m.CallToolsRequest, message);
    await oneCall(service, call, request, timeoutUs > 0 ? timeoutUs / 1000 : Infinity, number);
  }
}

// oneCall runs a call and sends its events. None may follow the last one, though a
// tool may still try to report progress then.
async function oneCall(service, call, request, timeout, number) {
  const send = (event) => call.send(encode(m.CallToolEvent, { ...event, number }));
  let ended = false;
  const progress = async (value) => {
    if (!ended) await send({ progress: json(value) });
  };
  const last = await service.callTool(request, timeout, call.signal, progress);
  ended = true;
  await send(last);
}

// The MCP global: one object for each upstream MCP server, one function for each
// of its tools. The guest holds names; what a name means is decided in the host.

import type { Core, Extra } from "../extra";
import { Kind } from "../kind";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, argumentsJSON, defineLazy, field, inputError, lazyMembers, native, rejected, request, takeSignal, typeName } = core;

  /** One tool or operation of a server, as the host lists it. */
  interface Tool {
    identifier: string;
    name: string;
    operation?: string;
  }

  /** What $api says of one tool. */
  interface Described {
    method: string;
    path: string;
    mcpTool: string;
    operation?: string;
    description: string;
  }

  const oneObject = "MCP namespace tools accept one object argument.";

  /** Builds MCP: the list of servers is read now, each server at its first touch. */
  function buildMCP(): object {
    const all = $.createObject(null);
    const servers = list("mcp.json", "servers");
    for (let i = 0; i < servers.length; i++) {
      const { identifier, serverName } = servers[i];
      defineLazy(all, identifier, true, () => buildServer(identifier, serverName));
    }
    for (let i = 0; i < servers.length; i++) {
      const { identifier, serverName } = servers[i];
      if (mayAlias(all, serverName)) defineLazy(all, serverName, false, () => all[identifier]);
    }
    return $.freeze(all);
  }

  /** Reads the list that a virtual file holds under a key. */
  function list(path: string, key: string): any {
    return $.ownValue(parsed(path), key) || $.newList();
  }

  /** Reads a virtual file. */
  function parsed(path: string): any {
    const file = native.file(path);
    return file === undefined ? undefined : $.parseJSON(file);
  }

  function buildServer(identifier: string, serverName: string): object {
    const server = $.createObject(null);
    const groups = $.createObject(null);
    $.define(server, "$serverName", serverName, false, false);
    addFunction(server, "$api", false, (tool, options) => describe(identifier, serverName, tool, options));
    const files = "mcp/" + identifier;
    const add = (tool: Tool): void => {
      const id = "mcp:" + serverName + ":" + tool.name;
      if ($.ownValue(tool, "operation") === undefined) {
        if (!$.hasOwn(server, tool.identifier)) {
          addFunction(server, tool.identifier, true, caller(serverName, field(tool.name), id));
        }
        return;
      }
      const dot = $.indexOfText(tool.identifier, ".");
      const group = $.sliceText(tool.identifier, 0, dot);
      const verb = $.sliceText(tool.identifier, dot + 1);
      if (groups[group] === undefined) $.define(groups, group, $.createObject(null), true, false);
      addFunction(groups[group], verb, true, caller(serverName, field(group) + "," + field(verb), id));
    };
    const alias = (tool: Tool): void => {
      if ($.ownValue(tool, "operation") === undefined && mayAlias(server, tool.name)) {
        $.define(server, tool.name, server[tool.identifier], false, false);
      }
    };
    const listed = parsed(files + ".json");
    const tools = $.ownValue(listed, "tools") || $.newList();
    for (let i = 0; i < tools.length; i++) add(tools[i]);
    const names = $.keysOf(groups);
    for (let i = 0; i < names.length; i++) {
      $.define(server, names[i]!, $.freeze(groups[names[i]!]), true, false);
    }
    if ($.ownValue(listed, "more") !== true) {
      for (let i = 0; i < tools.length; i++) alias(tools[i]);
      return $.freeze(server);
    }
    let all = false;
    const find = (key: PropertyKey): unknown => {
      if (all || typeof key !== "string" || $.hasOwn(server, key)) return server[key];
      const tool = parsed(files + "/tools/" + key);
      if (tool !== undefined) {
        add(tool);
        if (tool.name === key) alias(tool);
      }
      return server[key];
    };
    return lazyMembers(server, find, () => {
      const more = all ? $.newList() : list(files + "/tools", "tools");
      for (let i = 0; i < more.length; i++) add(more[i]);
      for (let i = 0; i < more.length; i++) alias(more[i]);
      all = true;
      return server;
    });
  }

  /** Whether an object may also have a name that another side has given, which it does not list. */
  function mayAlias(target: object, name: string): boolean {
    if (name === "then" || name === "toJSON" || name === "__proto__" || name === "constructor") return false;
    return name !== "resources" && name !== "prompts" && !$.hasOwn(target, name);
  }

  type Body = (...args: any[]) => unknown;

  function addFunction(target: object, name: string, enumerable: boolean, body: Body): void {
    $.define(body, "name", name, false, false);
    $.define(target, name, $.freeze(body), enumerable, false);
  }

  /** The function of one tool; path is the JSON of its segments, without brackets. */
  function caller(serverName: string, path: string, toolId: string): Body {
    const head = '"mcp",' + field(serverName) + ",[" + path + "],[";
    return (...args: unknown[]): Promise<unknown> => {
      try {
        const signal = takeSignal(args);
        // As in any call, an argument at the end that is undefined was not given.
        while (args.length > 0 && args[args.length - 1] === undefined) args.length--;
        const input = args.length > 0 ? args[0] : undefined;
        if (args.length > 1 || !isInput(input)) throw inputError(oneObject, toolId);
        return request(head + (input === undefined ? "" : argumentsJSON(input)) + "]", toolId, signal);
      } catch (error) {
        return rejected(error);
      }
    };
  }

  /** Whether a value is a plain object, or absent. What is wrong with a promise is said when it is converted. */
  function isInput(value: unknown): boolean {
    if (value === undefined) return true;
    if (typeof value !== "object" || value === null || $.isArray(value)) return false;
    const kind = $.kindOf(value);
    return kind === Kind.Plain || kind === Kind.Promise;
  }

  /** Serves $api from virtual files, without a bridge call. */
  function describe(identifier: string, serverName: string, tool: unknown, options: unknown): Promise<unknown> {
    try {
      const answer = describeNow(identifier, serverName, tool, options);
      return new $.PromiseConstructor<unknown>((resolve) => resolve(answer));
    } catch (error) {
      return rejected(error);
    }
  }

  function describeNow(identifier: string, serverName: string, tool: unknown, options: any): object {
    const where = "MCP." + identifier + ".$api";
    if (tool !== undefined && tool !== null && typeof tool !== "string") {
      throw inputError(where + " expects the tool as a string, got " + typeName(tool));
    }
    if (options !== undefined && options !== null && typeof options !== "object") {
      throw inputError(where + " expects its options as an object such as {schema: true}, got " + typeName(options));
    }
    const folder = "mcp/" + identifier + "/";
    const all = list(folder + "api.json", "tools");
    const tools: Described[] = [];
    for (let i = 0; i < all.length; i++) {
      if (!tool || matches(all[i], tool)) $.define(tools, tools.length, all[i], true, true);
    }
    const one = tools.length === 1 && !!tool;
    const answer = {
      kind: "mcp_api",
      scope: one ? "tool" : "server",
      server: { identifier, serverName, toolCount: all.length },
      header: native.file(one ? folder + tools[0]!.path + ".d.ts" : "api/mcp/" + identifier + ".d.ts"),
      tools,
    };
    if ($.ownValue(options, "schema") === true) {
      $.define(answer, "schemas", schemas(folder, tools), true, true);
    }
    const note =
      tool && tools.length === 0
        ? "No tool of this server has that name. Call $api() without arguments for the list."
        : "Call a tool as MCP." + identifier + ".<method>({ ... }) with one object.";
    $.define(answer, "note", note, true, true);
    return answer;
  }

  function matches(tool: Described, wanted: unknown): boolean {
    return tool.method === wanted || tool.path === wanted || tool.mcpTool === wanted;
  }

  function schemas(folder: string, tools: Described[]): object {
    const found = $.createObject(null);
    for (let i = 0; i < tools.length; i++) {
      const file = native.file(folder + tools[i]!.path + ".json");
      if (file !== undefined) $.define(found, tools[i]!.path, $.parseJSON(file), true, true);
    }
    return found;
  }

  return { __proto__: null, MCP: buildMCP() } as Record<string, unknown>;
};

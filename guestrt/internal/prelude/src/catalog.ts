// The catalog as the guest sees it: ALL_TOOLS and tools.

import { argumentsJSON, field, rejected, request } from "./bridge";
import { inputError, typeName } from "./errors";
import * as $ from "./intrinsics";
import { deepFreeze, lazyMembers } from "./lazy";
import { maxQuery, maxToolName } from "./limits";
import type { Native } from "./native";
import { signalOption, trailingSignal, type Signal } from "./signals";

/** Builds the frozen list of catalog entries. */
export function buildEntries(native: Native): unknown {
  const file = native.file("catalog.json");
  return deepFreeze(file === undefined ? [] : $.parseJSON(file), false);
}

const search = (query?: unknown, options?: unknown): Promise<unknown> => {
  try {
    if (query === undefined || query === null) query = "";
    if (typeof query !== "string") {
      throw inputError("tools.search expects the query as a string, got " + typeName(query));
    }
    if (query.length > maxQuery) throw inputError("tools.search expects a query of at most " + maxQuery + " characters");
    return request('"search",' + field(query) + "," + searchOptions(options));
  } catch (error) {
    return rejected(error);
  }
};

function searchOptions(options: any): string {
  if (options === undefined || options === null) return "{}";
  if (typeof options !== "object") {
    throw inputError("tools.search expects its options as an object such as {limit: 5}, got " + typeName(options));
  }
  const limit = $.ownValue(options, "limit");
  if (limit === undefined || limit === null) return "{}";
  if (typeof limit !== "number" || limit < 1 || limit > 0x7fffffff || $.floor(limit) !== limit) {
    const got = typeof limit === "number" ? "" + limit : typeName(limit);
    throw inputError("tools.search expects limit to be a positive integer, got " + got);
  }
  return '{"limit":' + limit + "}";
}

const describe = (id?: unknown): Promise<unknown> => {
  try {
    return request('"describe",' + field(toolName("tools.describe", id)), id as string);
  } catch (error) {
    return rejected(error);
  }
};

const call = (id?: unknown, input?: unknown, options?: unknown): Promise<unknown> => {
  try {
    return callTool(toolName("tools.call", id), input, signalOption("tools.call", options));
  } catch (error) {
    return rejected(error);
  }
};

function toolName(caller: string, id: unknown): string {
  if (typeof id === "string" && id.length <= maxToolName && $.trimText(id) !== "") return id;
  const got = typeof id !== "string" ? typeName(id) : id.length > maxToolName ? "a very long one" : "a blank string";
  throw inputError(caller + " expects a tool id or name as a string, got " + got);
}

function callTool(id: string, input: unknown, signal: Signal | undefined): Promise<unknown> {
  const json = input === undefined || input === null ? "{}" : argumentsJSON(input);
  return request('"call",' + field(id) + "," + json, id, signal);
}

/**
 * Builds tools: search, describe, call, and one function per safe name. The
 * names are read from the host when first needed, the functions made one by
 * one as they are used.
 */
export function buildTools(native: Native): object {
  const target = $.createObject(null);
  addFunction(target, "search", search);
  addFunction(target, "describe", describe);
  addFunction(target, "call", call);
  let names: any;
  const table = () => {
    if (names === undefined) {
      const file = native.file("tools.json");
      names = $.setPrototypeOf(file === undefined ? {} : $.parseJSON(file), null);
    }
    return names;
  };
  const find = (key: PropertyKey): unknown => {
    if (!$.hasOwn(target, key) && typeof key === "string") {
      const id = table()[key];
      if (typeof id === "string") addFunction(target, key, toolFunction(id));
    }
    return target[key];
  };
  return lazyMembers(target, find, () => {
    const all = $.keysOf(table());
    for (let i = 0; i < all.length; i++) find(all[i]!);
    return target;
  });
}

/** One tool's function. A second argument that is no {signal}, such as map passes, is ignored. */
function toolFunction(id: string): (input?: unknown, options?: unknown) => Promise<unknown> {
  return (input, options) => {
    try {
      return callTool(id, input, trailingSignal(options));
    } catch (error) {
      return rejected(error);
    }
  };
}

function addFunction(target: object, name: string, body: (...args: any[]) => unknown): void {
  $.define(body, "name", name, false, false);
  $.define(target, name, $.freeze(body), true, false);
}

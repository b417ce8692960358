// Namespace scopes: frozen data and functions that plugins put into the guest.
// The guest holds paths; what a path means is decided in the host.

import { argumentsJSON, field, rejected, request } from "./bridge";
import { describeError, type CallError } from "./errors";
import * as $ from "./intrinsics";
import { deepFreeze, defineConstant, defineGetter } from "./lazy";
import type { Native } from "./native";
import { newError } from "./raise";
import { takeSignal } from "./signals";

/**
 * Defines one global per namespace, and the namespaces object that holds them
 * all. Each scope is fetched and built at its first touch, once. One that the host
 * refuses is asked for again at the next touch.
 */
export function installNamespaces(native: Native, target: object, list: [string, string][]): void {
  const all = $.createObject(null);
  for (let i = 0; i < list.length; i++) {
    const global = list[i]![0];
    if ($.hasOwn(target, global)) throw taken(global);
    const scope = once(() => buildScope(native, list[i]![1]));
    defineGetter(all, global, true, scope);
    defineGetter(target, global, false, scope);
  }
  defineConstant(target, "namespaces", $.freeze(all));
}

function taken(global: string): Error {
  return newError("namespace global " + global + " is taken");
}

/** Reads a scope until it is there, and the same one from then on. */
function once(build: () => Scope): () => unknown {
  let scope: unknown;
  let built = false;
  return () => {
    if (built) return scope;
    const made = build();
    built = made.failure === undefined;
    scope = built ? made.value : unusable(made.failure);
    return scope;
  };
}

interface Scope {
  value: unknown;
  /** Why the host refuses the scope. */
  failure: CallError | undefined;
}

function buildScope(native: Native, id: string): Scope {
  const file = native.file("namespaces/" + id + ".json");
  const root = file === undefined ? { error: { message: "namespace " + id + " is unavailable" } } : $.parseJSON(file);
  const failure = $.ownValue(root, "error");
  const value = failure === undefined ? buildNode(field(id), root, "", "") : undefined;
  return { __proto__: null, value, failure } as unknown as Scope;
}

/** Stands for a scope that is refused: typeof finds an object, everything else throws. */
function unusable(failure: CallError | undefined): object {
  const refuse = () => {
    const error = newError("");
    describeError(error, failure as CallError);
    throw error;
  };
  return new $.ProxyConstructor($.createObject(null), {
    __proto__: null,
    get: refuse,
    set: refuse,
    has: refuse,
    deleteProperty: refuse,
    ownKeys: refuse,
    getOwnPropertyDescriptor: refuse,
    defineProperty: refuse,
    getPrototypeOf: refuse,
    setPrototypeOf: refuse,
    isExtensible: refuse,
    preventExtensions: refuse,
  } as unknown as ProxyHandler<any>);
}

/** Builds one node of a scope; path is the JSON of its segments, without brackets. */
function buildNode(id: string, node: any, path: string, name: string): unknown {
  switch ($.ownValue(node, "kind")) {
    case "object":
      return buildObject(id, $.ownValue(node, "entries"), path);
    case "array":
      return buildArray(id, $.ownValue(node, "items"), path);
    case "value":
      return deepFreeze($.ownValue(node, "value"), true);
    case "call":
      return buildCall(id, path, name);
  }
  throw newError("namespace scope is malformed at [" + path + "]");
}

function childPath(path: string, key: string): string {
  return (path === "" ? "" : path + ",") + field(key);
}

function buildObject(id: string, entries: any, path: string): object {
  const object = $.createObject(null);
  const keys = $.keysOf(entries);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    $.define(object, key, buildNode(id, entries[key], childPath(path, key), key), true, false);
  }
  return $.freeze(object);
}

/** Arrays keep Array.prototype: without map and iteration they would be no arrays. */
function buildArray(id: string, items: any, path: string): object {
  const array: unknown[] = [];
  for (let i = 0; i < items.length; i++) {
    $.define(array, i, buildNode(id, items[i], childPath(path, "" + i), "" + i), true, false);
  }
  return $.freeze(array);
}

function buildCall(id: string, path: string, name: string): object {
  const head = '"namespace",' + id + ",[" + path + "],";
  const call = (...args: unknown[]): Promise<unknown> => {
    try {
      const signal = takeSignal(args);
      // As in any call, an argument at the end that is undefined was not given.
      while (args.length > 0 && args[args.length - 1] === undefined) args.length--;
      return request(head + argumentsJSON(args), undefined, signal);
    } catch (error) {
      return rejected(error);
    }
  };
  $.define(call, "name", name, false, false);
  return $.freeze(call);
}

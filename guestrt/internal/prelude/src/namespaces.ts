// Namespace scopes: frozen data and functions that plugins put into the guest.
// The guest holds paths; what a path means is decided in the host.

import { argumentsJSON, field, rejected, request, type Complete } from "./bridge";
import { describeError, type CallError } from "./errors";
import * as $ from "./intrinsics";
import { deepFreeze, defineConstant, defineGetter } from "./lazy";
import type { Native } from "./native";
import { newError, typeError } from "./raise";
import { takeSignalOption, type Signal } from "./signals";

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
  const value = failure === undefined ? buildRoot(field(id), root) : undefined;
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

/** What the nodes of one scope share. */
interface Shared {
  /** The namespace's id as JSON. */
  id: string;
  /** Completes results, by the names of their classes. */
  complete: Record<string, Complete>;
}

function buildRoot(id: string, root: unknown): unknown {
  const complete = $.createObject(null);
  const shared = { __proto__: null, id, complete } as unknown as Shared;
  const classes = $.ownValue(root, "classes");
  if (classes !== undefined) {
    const names = $.keysOf(classes);
    for (let i = 0; i < names.length; i++) {
      $.define(complete, names[i]!, completeBy(shared, names[i]!, classes[names[i]!]), true, false);
    }
  }
  return buildNode(shared, root, "", "");
}

/** Builds one node of a scope; path is the JSON of its segments, without brackets. */
function buildNode(shared: Shared, node: any, path: string, name: string): unknown {
  switch ($.ownValue(node, "kind")) {
    case "object":
      return buildObject(shared, $.ownValue(node, "entries"), path);
    case "array":
      return buildArray(shared, $.ownValue(node, "items"), path);
    case "value":
      return deepFreeze($.ownValue(node, "value"), true);
    case "call":
      return buildCall(shared, node, path, name);
  }
  throw newError("namespace scope is malformed at [" + path + "]");
}

function childPath(path: string, key: string): string {
  return (path === "" ? "" : path + ",") + field(key);
}

function buildObject(shared: Shared, entries: any, path: string): object {
  const object = $.createObject(null);
  const keys = $.keysOf(entries);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    $.define(object, key, buildNode(shared, entries[key], childPath(path, key), key), true, false);
  }
  return $.freeze(object);
}

/** Arrays keep Array.prototype: without map and iteration they would be no arrays. */
function buildArray(shared: Shared, items: any, path: string): object {
  const array: unknown[] = [];
  for (let i = 0; i < items.length; i++) {
    $.define(array, i, buildNode(shared, items[i], childPath(path, "" + i), "" + i), true, false);
  }
  return $.freeze(array);
}

function buildCall(shared: Shared, node: any, path: string, name: string): object {
  const head = callHead(shared, path);
  const complete = completion(shared, node);
  const template = $.ownValue(node, "template") === true;
  const call = (...args: unknown[]): Promise<unknown> => {
    try {
      const signal = template ? takeTemplate(name, args) : takeOptions(args);
      return request(head + argumentsJSON(args), undefined, signal, complete);
    } catch (error) {
      return rejected(error);
    }
  };
  $.define(call, "name", name, false, false);
  return $.freeze(call);
}

function callHead(shared: Shared, path: string): string {
  return '"namespace",' + shared.id + ",[" + path + "],";
}

/** Takes off a list of arguments what is not for the tool: the signal, and what was not given. */
function takeOptions(args: unknown[]): Signal | undefined {
  const signal = takeSignalOption(args);
  // As in any call, an argument at the end that is undefined was not given.
  while (args.length > 0 && args[args.length - 1] === undefined) args.length--;
  return signal;
}

/** Replaces the first argument of a tag by what the host is told of the template. A tag takes no signal. */
function takeTemplate(name: string, args: unknown[]): undefined {
  const strings: any = args[0];
  const raw: any = $.ownValue(strings, "raw");
  if (!$.isArray(strings) || !$.isArray(raw)) {
    throw typeError(name + " stands in front of a template literal: write " + name + "`…`, without parentheses");
  }
  let same = strings.length === raw.length;
  for (let i = 0; same && i < raw.length; i++) same = strings[i] === raw[i];
  args[0] = same ? { __proto__: null, strings } : { __proto__: null, strings, raw };
}

/** What completes the results of a call; undefined without a class. */
function completion(shared: Shared, node: any): Complete | undefined {
  const name = $.ownValue(node, "returns");
  if (name === undefined) return undefined;
  const complete = shared.complete[name]!;
  const below = $.ownValue(node, "returnsIn");
  return below === undefined ? complete : (value) => complete($.ownValue(value, below));
}

/** The function that gives results the methods of a class. A list has them on its items. */
function completeBy(shared: Shared, name: string, node: any): Complete {
  const key: string = $.ownValue(node, "key");
  const methods = $.ownValue(node, "methods");
  const names = $.keysOf(methods);
  const descriptors = $.newList();
  for (let i = 0; i < names.length; i++) {
    const path = field(name) + ',"prototype",' + field(names[i]!);
    const value = buildMethod(shared, methods[names[i]!], path, key, name, names[i]!);
    descriptors[i] = { __proto__: null, value, enumerable: false, writable: false, configurable: false };
  }
  const one = (value: any): void => {
    const id = $.ownValue(value, key);
    if (id === undefined || id === null) return;
    for (let i = 0; i < names.length; i++) {
      if (!$.hasOwn(value, names[i]!)) $.defineOwn(value, names[i]!, descriptors[i]);
    }
  };
  return (value: any): void => {
    if (!$.isArray(value)) return one(value);
    for (let i = 0; i < value.length; i++) one(value[i]);
  };
}

function buildMethod(shared: Shared, node: any, path: string, key: string, type: string, name: string): object {
  const head = callHead(shared, path);
  const { method } = {
    method(this: unknown, ...args: unknown[]): Promise<unknown> {
      try {
        const id = $.ownValue(this, key);
        if (id === undefined || id === null) {
          throw typeError(name + " is a method of " + type + ": call it on a result that has " + key);
        }
        const signal = takeOptions(args);
        const all = $.newList();
        all[0] = id;
        for (let i = 0; i < args.length; i++) all[i + 1] = args[i];
        // A class may return itself, so the completion is there only now.
        return request(head + argumentsJSON(all), undefined, signal, completion(shared, node));
      } catch (error) {
        return rejected(error);
      }
    },
  };
  $.define(method, "name", name, false, false);
  return $.freeze(method);
}

// results: values that a program puts aside for the length of its run. They are
// kept as JSON text, detached from the program's own objects.

import type { Core, Extra } from "../extra";
import { Purpose } from "../purpose";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, caps, clip, inputError, maxResults, named, toJSONText, typeName, utf8Size } = core;

  const saved = new $.MapConstructor<string, string>();
  let bytes = 0;
  let lastID = 0;

  const maxName = 256;

  const save = (nameOrValue?: unknown, ...rest: unknown[]): string => {
    const named = rest.length > 0;
    const name = named ? nameOf("results.save", nameOrValue) : freeName();
    const text = toJSONText(named ? rest[0] : nameOrValue, caps, Purpose.Keep);
    const old: string | undefined = $.mapGet(saved, name);
    if (old === undefined && $.mapSize(saved) >= maxResults) {
      throw full("results are full: at most " + maxResults + " may be saved in one run; delete some with results.delete(name)");
    }
    const size = utf8Size(text) + name.length;
    const without = bytes - (old === undefined ? 0 : utf8Size(old) + name.length);
    if (without + size > caps.bytes) {
      throw full("results are full: they would have " + (without + size) + " bytes, at most " + caps.bytes +
        " may be saved in one run; save less, or delete some with results.delete(name)");
    }
    $.mapSet(saved, name, text);
    bytes = without + size;
    return name;
  };

  const load = (name?: unknown): unknown => {
    const text: string | undefined = $.mapGet(saved, nameOf("results.load", name));
    if (text === undefined) throw inputError("no result is saved as " + clip(name as string, 80));
    return $.parseJSON(text);
  };

  const remove = (name?: unknown): boolean => {
    const known = nameOf("results.delete", name);
    const text: string | undefined = $.mapGet(saved, known);
    if (text === undefined) return false;
    bytes -= utf8Size(text) + known.length;
    return $.mapDelete(saved, known);
  };

  /** Builds the results object. */
  function newResults(): object {
    const results = $.createObject(null);
    add(results, "save", save);
    add(results, "load", load);
    add(results, "delete", remove);
    return $.freeze(results);
  }

  function add(target: object, name: string, body: Function): void {
    $.define(target, name, named(name, body), true, false);
  }

  function nameOf(caller: string, name: unknown): string {
    if (typeof name === "string" && name !== "" && name.length <= maxName) return name;
    const got = typeof name !== "string" ? typeName(name) : name === "" ? "an empty one" : "a very long one";
    throw inputError(caller + " expects a name as a string of at most " + maxName + " characters, got " + got);
  }

  function freeName(): string {
    let name: string;
    do name = "result_" + ++lastID;
    while ($.mapGet(saved, name) !== undefined);
    return name;
  }

  function full(message: string): Error {
    const error = inputError(message);
    $.define(error, "code", "results_full", true, true);
    return error;
  }

  return { __proto__: null, results: newResults() } as Record<string, unknown>;
};

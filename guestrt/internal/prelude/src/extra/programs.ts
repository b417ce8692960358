// programs: what was saved under a name. The host has the programs; the guest gets one to
// run it.

import type { Core, Extra } from "../extra";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, argumentsJSON, deepFreeze, field, inputError, named, native, rejected, request, takeSignal, typeName } = core;

  const maxName = 64;
  const maxDepth = 8;

  /** A saved program, as native.extra evaluates it. */
  type Saved = (input: unknown, programs: object) => () => Promise<unknown>;

  /**
   * Builds the programs object of a program that so many others have run. The cell's own
   * has the depth 0 and no input.
   */
  function newPrograms(depth: number, given: unknown): object {
    const run = (name?: unknown, ...args: unknown[]): Promise<unknown> => {
      try {
        const signal = takeSignal(args);
        const known = nameOf("programs.run", name);
        if (depth >= maxDepth) {
          const error = inputError("programs.run: programs run each other " + maxDepth + " deep, which is all they may: return a value instead");
          $.define(error, "code", "program_too_deep", true, true);
          throw error;
        }
        const json = args[0] === undefined || args[0] === null ? "{}" : argumentsJSON(args[0]);
        const id = "quoin:programs:" + known;
        const started = request('"program",' + field(known) + ",[" + depth + "," + json + "]", id, signal);
        return start(started, depth, json);
      } catch (error) {
        return rejected(error);
      }
    };

    const input = (defaults?: unknown): unknown => {
      if (defaults !== undefined && (typeof defaults !== "object" || defaults === null || $.isArray(defaults))) {
        throw inputError("programs.input expects the defaults of the input as an object such as {days: 7}, got " + typeName(defaults));
      }
      const all = {};
      const add = (from: any) => {
        const keys = $.keysOf(from);
        for (let i = 0; i < keys.length; i++) $.define(all, keys[i]!, from[keys[i]!], true, true);
      };
      if (defaults !== undefined) add(defaults);
      if (given !== undefined) add(given);
      return all;
    };

    const programs = $.createObject(null);
    add(programs, "run", run);
    add(programs, "input", input);
    add(programs, "list", list);
    add(programs, "save", save);
    return $.freeze(programs);
  }

  /** Runs a program once the host has said which it is. */
  function start(started: Promise<unknown>, depth: number, json: string): Promise<unknown> {
    return new $.PromiseConstructor<unknown>((resolve, reject) => {
      const begin = (answer: unknown) => {
        try {
          const program = native.extra("program/" + $.ownValue(answer as object, "program")) as unknown as Saved | undefined;
          if (program === undefined) throw inputError("programs.run: the program was replaced or removed before it started; run it again");
          const input = $.parseJSON(json);
          resolve(program(input, newPrograms(depth + 1, input))());
        } catch (error) {
          reject(error);
        }
      };
      $.promiseThen(started, begin, reject);
    });
  }

  const list = (): unknown => {
    const file = native.file("programs.json");
    return deepFreeze(file === undefined ? [] : $.parseJSON(file), false);
  };

  const save = (name?: unknown, options?: unknown): Promise<unknown> => {
    try {
      if (options !== undefined && options !== null && (typeof options !== "object" || $.isArray(options))) {
        throw inputError('programs.save expects its options as an object such as {description: "…", input: schema}, got ' + typeName(options));
      }
      const json = options === undefined || options === null ? "{}" : argumentsJSON(options);
      return request('"save",' + field(nameOf("programs.save", name)) + "," + json, "quoin:core:save_program");
    } catch (error) {
      return rejected(error);
    }
  };

  function nameOf(caller: string, name: unknown): string {
    if (typeof name === "string" && name !== "" && name.length <= maxName) return name;
    const got = typeof name !== "string" ? typeName(name) : name === "" ? "an empty one" : "a very long one";
    throw inputError(caller + ' expects the name of a program, such as "weekly-report", got ' + got);
  }

  function add(target: object, name: string, body: Function): void {
    $.define(target, name, named(name, body), true, false);
  }

  return { __proto__: null, programs: newPrograms(0, undefined) } as Record<string, unknown>;
};

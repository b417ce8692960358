// API: the declaration files that describe what this guest can call.

import type { Core, Extra } from "../extra";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, clip, deepFreeze, field, inputError, named, native, rejected, typeName } = core;

  /** What the index says of one file. */
  interface File {
    path: string;
    description: string;
    bytes: number;
  }

  /** The file that the worker itself brings along. */
  const ownFile = "guest.d.ts";

  /** Builds API. The index is read when files are first listed, each file when it is. */
  function newAPI(): object {
    let known: File[] | undefined;
    const about = (path: string): File => deepFreeze($.parseJSON(native.file("api/" + path + ".json") || "{}"), false);
    const api = $.createObject(null);
    addAsync(api, "list", (prefix?: unknown) => {
      const wanted = prefix === undefined || prefix === null || prefix === "" || prefix === "/" ? "" : cleanPath(prefix, true);
      if (known === undefined) known = readIndex(about(ownFile));
      const files: File[] = [];
      for (let i = 0; i < known.length; i++) {
        const file = known[i]!;
        if ($.sliceText(file.path, 0, wanted.length) === wanted) $.define(files, files.length, file, true, false);
      }
      return $.freeze({ files: $.freeze(files) });
    });
    addAsync(api, "read", (path?: unknown) => {
      const wanted = cleanPath(path, false);
      const content = wanted === "index.json" ? undefined : native.file("api/" + wanted);
      const file = content === undefined ? undefined : about(wanted);
      if (file === undefined || file.path !== wanted) throw inputError(unknownFile(wanted));
      return $.freeze({ path: wanted, content, description: file.description, bytes: file.bytes });
    });
    return $.freeze(api);
  }

  /** What is said of a path that is no file's. The host knows the nearest ones. */
  function unknownFile(path: string): string {
    const hint = native.file("hint/file/[" + field(clip(path, 200)) + "]");
    return "Unknown API file: " + clip(path, 200) + (hint === undefined ? ". API.list() names every file." : ". " + hint);
  }

  /** The host's files and our own, by path. */
  function readIndex(own: File): File[] {
    const list: File[] = $.newList();
    const file = native.file("api/index.json");
    const all: File[] = file === undefined ? [] : deepFreeze($.parseJSON(file), false);
    let count = 0;
    for (let i = 0; i < all.length; i++) {
      if (count === i && own.path < all[i]!.path) list[count++] = own;
      list[count++] = all[i]!;
    }
    if (count === all.length) list[count] = own;
    return list;
  }

  /** Adds a function whose answer, though it is there at once, is a promise. */
  function addAsync(target: object, name: string, body: (argument?: unknown) => unknown): void {
    const call = (argument?: unknown): Promise<unknown> => {
      try {
        const answer = body(argument);
        return new $.PromiseConstructor<unknown>((resolve) => resolve(answer));
      } catch (error) {
        return rejected(error);
      }
    };
    $.define(target, name, named(name, call), true, false);
  }

  /** A path without a leading slash. No segment may be empty, "." or "..". */
  function cleanPath(path: unknown, folder: boolean): string {
    if (typeof path !== "string") throw inputError("invalid API file path: expected a string, got " + typeName(path));
    const clean = path[0] === "/" ? $.sliceText(path, 1) : path;
    let from = 0;
    while (from <= clean.length) {
      const slash = $.indexOfText(clean, "/", from);
      const segment = $.sliceText(clean, from, slash < 0 ? clean.length : slash);
      const trailing = folder && segment === "" && from > 0 && from === clean.length;
      if ((segment === "" && !trailing) || segment === "." || segment === "..") throw inputError("invalid API file path");
      if (slash < 0) break;
      from = slash + 1;
    }
    return clean;
  }

  return { __proto__: null, API: newAPI() } as Record<string, unknown>;
};

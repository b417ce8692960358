// console: one bounded text output per call, which never throws.

import { now } from "./clock";
import { toNote, type Caps } from "./convert";
import { errorLine, isError } from "./errors";
import * as $ from "./intrinsics";
import { functionText, note } from "./output";
import { clip } from "./strings";

const maxLine = 16384;
const maxLabel = 200;
const maxDepth = 20;
const noteCaps: Caps = { __proto__: null, nodes: 2000, depth: 6, bytes: maxLine, entries: 100, chars: 4096 } as any;

/** How many groups are open: their lines are indented. */
let depth = 0;

/**
 * Builds the console, with the methods of the WHATWG standard. Warnings and errors carry
 * a prefix, since all levels end up in one output. Its methods may be replaced by the
 * guest, as anywhere.
 */
export function newConsole(): object {
  const console = $.createObject($.objectPrototype);
  const log = method("");
  addMethod(console, "log", log);
  addMethod(console, "info", method(""));
  addMethod(console, "debug", method(""));
  addMethod(console, "dir", (value: unknown) => log(value));
  addMethod(console, "table", (value: unknown) => log(value));
  addMethod(console, "dirxml", method(""));
  addMethod(console, "warn", method("[warn] "));
  addMethod(console, "error", method("[error] "));
  addMethod(console, "trace", method("[trace] "));
  addMethod(console, "assert", assertion(method("[assert] ")));
  addMethod(console, "clear", () => {});
  addGroups(console, log);
  addCounts(console, log);
  addTimers(console, log);
  return console;
}

function addGroups(console: object, log: (...args: unknown[]) => void): void {
  const group = () => (...args: unknown[]) => {
    if (args.length > 0) $.apply(log, undefined, args);
    if (depth < maxDepth) depth++;
  };
  addMethod(console, "group", group());
  addMethod(console, "groupCollapsed", group());
  addMethod(console, "groupEnd", () => {
    if (depth > 0) depth--;
  });
}

function addCounts(console: object, log: (line: string) => void): void {
  const counts: Record<string, number> = $.createObject(null) as any;
  addMethod(console, "count", (label) => {
    const of = labelOf(label);
    counts[of] = (counts[of] || 0) + 1;
    log(of + ": " + counts[of]);
  });
  addMethod(console, "countReset", (label) => {
    counts[labelOf(label)] = 0;
  });
}

function addTimers(console: object, log: (line: string) => void): void {
  const starts: Record<string, number> = $.createObject(null) as any;
  addMethod(console, "time", (label) => {
    starts[labelOf(label)] = now();
  });
  const tell = () => (label: unknown, ...values: unknown[]) => {
    const of = labelOf(label);
    let line = of + ": " + (starts[of] === undefined ? "no such timer" : now() - starts[of] + "ms");
    for (let i = 0; i < values.length && line.length <= maxLine; i++) line += " " + inspect(values[i]);
    log(line);
  };
  addMethod(console, "timeLog", tell());
  addMethod(console, "timeEnd", tell());
}

function labelOf(label: unknown): string {
  return label === undefined ? "default" : clip(inspect(label), maxLabel);
}

function addMethod(console: object, name: string, body: (...args: any[]) => void): void {
  $.define(body, "name", name, false, true);
  $.define(console, name, body, true, true);
}

function method(prefix: string): (...args: unknown[]) => void {
  return (...args) => {
    let line = "";
    for (let i = 0; i < depth; i++) line += "  ";
    line += prefix;
    let next = 0;
    if (args.length > 1 && typeof args[0] === "string") {
      const format = clip(args[0], maxLine);
      next = 1;
      for (let i = 0; i < format.length; i++) {
        const kind = format[i] === "%" ? format[i + 1] : undefined;
        if (kind === "%" || (kind !== undefined && next < args.length && $.indexOfText("sdifjoOc", kind) >= 0)) {
          line += kind === "%" ? kind : kind === "c" ? "" : inspect(args[next]); // c is a style
          if (kind !== "%") next++;
          i++;
        } else line += format[i];
      }
    }
    for (let i = next; i < args.length && line.length <= maxLine; i++) {
      line += (i > 0 ? " " : "") + inspect(args[i]);
    }
    note(clip(line, maxLine));
  };
}

function assertion(fail: (...args: unknown[]) => void): (...args: unknown[]) => void {
  return (ok, ...args) => {
    if (ok) return;
    if (args.length === 0) fail("assertion failed");
    else $.apply(fail, undefined, args);
  };
}

/** A value in readable form, bounded, without ever throwing. */
export function inspect(value: any): string {
  switch (typeof value) {
    case "string":
      return value;
    case "symbol":
      return $.symbolToString(value);
    case "function":
      return functionText(value);
    case "object":
      if (value !== null) return isError(value) ? errorLine(value) : toNote(value, noteCaps);
  }
  return "" + value;
}

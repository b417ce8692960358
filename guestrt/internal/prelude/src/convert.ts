// Converts guest values to JSON text.
//
// The rules are those of JSON.stringify with these differences: BigInt becomes
// a decimal string, Map an array of pairs, Set and binary data arrays, Error
// {name, message}, RegExp its source text, and a cycle the string "[Circular]".
// A toJSON method counts when the object or its class brings it; one patched
// onto Object.prototype or Array.prototype does not, so that plain data always
// crosses as what it is.
//
// A strict walk throws when a cap is passed or a getter throws. A lenient walk,
// for messages to people, writes a note in place of what it leaves out.

import { writeBuiltin } from "./builtins";
import * as $ from "./intrinsics";
import { Purpose } from "./purpose";
import { newError } from "./raise";
import { clip, quote, utf8Size } from "./strings";

/** Bounds of one conversion. */
export interface Caps {
  /** Values in total, containers included. */
  nodes: number;
  /** Containers inside each other. */
  depth: number;
  /** UTF-8 bytes of the JSON text (lenient walks count characters). */
  bytes: number;
  /** Lenient only: entries of one container; 0 in strict walks. */
  entries: number;
  /** Lenient only: characters of one string. */
  chars: number;
}

/** One conversion under way. */
export interface Walk {
  caps: Caps;
  lenient: boolean;
  /** Strict only: what the text is for. */
  purpose: Purpose;
  /** The text so far: pieces that were joined already, then the last ones. units is the length of all. */
  joined: string[];
  joinedCount: number;
  parts: string[];
  count: number;
  units: number;
  nodes: number;
  /** The containers around the current value; depth is their number. */
  around: object[];
  depth: number;
  /** Property names as JSON; known is their number. */
  names: Record<string, string | undefined>;
  known: number;
}

/** Text that gathers in a local variable goes to the walk in pieces of this length. */
export const pieceLength = 65536;
const maxKnownNames = 1000;

/** So many pieces are joined into one: a piece of one character takes many times its length of the heap. */
const maxPieces = 4096;

const overLimit = new $.WeakSetConstructor<object>();

/** Whether an error says that a value was too big to convert. */
export function isLimitError(error: any): boolean {
  return typeof error === "object" && error !== null && $.weakSetHas(overLimit, error);
}

/** The error for a value that passes a cap. */
export function limitError(message: string): Error {
  const error = newError(message);
  $.define(error, "code", "invalid_input", true, true);
  $.weakSetAdd(overLimit, error);
  return error;
}

/** Converts strictly: the text is complete or an error is thrown. */
export function toJSONText(value: unknown, caps: Caps, purpose: Purpose): string {
  const walk = newWalk(caps, false);
  walk.purpose = purpose;
  writeItem(walk, applyToJSON(walk, value, ""));
  const text = wholeText(walk);
  if (text.length * 3 > caps.bytes && utf8Size(text) > caps.bytes) throw tooLarge(walk);
  return text;
}

/** Converts leniently: never throws, and names what it left out. */
export function toNote(value: unknown, caps: Caps): string {
  const walk = newWalk(caps, true);
  try {
    writeItem(walk, applyToJSON(walk, value, ""));
  } catch (error) {
    walk.parts[walk.count++] = isLimitError(error) ? "…" : "[unreadable]";
  }
  return wholeText(walk);
}

function newWalk(caps: Caps, lenient: boolean): Walk {
  return {
    __proto__: null,
    caps,
    lenient,
    purpose: Purpose.Result,
    joined: $.newList(),
    joinedCount: 0,
    parts: $.newList(),
    count: 0,
    units: 0,
    nodes: 0,
    around: $.newList(),
    depth: 0,
    names: $.createObject(null),
    known: 0,
  } as Walk;
}

function invalidInput(message: string): Error {
  const error = newError(message);
  $.define(error, "code", "invalid_input", true, true);
  return error;
}

/** A string as JSON. */
function stringText(walk: Walk, text: string): string {
  if (walk.purpose === Purpose.Input && $.wellFormed(text) !== text) {
    throw invalidInput(
      "an argument holds a string with half of a surrogate pair, which is no character: cut strings between characters, or use toWellFormed()",
    );
  }
  return quote(text);
}

/** Writes what stands for a promise. */
export function writePromise(walk: Walk): void {
  if (walk.purpose !== Purpose.Result) {
    throw invalidInput(
      "an argument holds a promise that was not awaited: put await before the call that made it, or use Promise.all",
    );
  }
  const note = "[Unawaited Promise: use await or Promise.all]";
  emit(walk, walk.lenient ? note : quote(note));
}

/** Appends text to what the walk has written. */
export function emit(walk: Walk, text: string): void {
  walk.units += text.length;
  if (walk.units > walk.caps.bytes) throw tooLarge(walk);
  walk.parts[walk.count++] = text;
  if (walk.count === maxPieces) joinPieces(walk);
}

function joinPieces(walk: Walk): void {
  walk.joined[walk.joinedCount++] = $.joinParts(walk.parts, "");
  walk.parts = $.newList();
  walk.count = 0;
}

/** The text that the walk has written. */
function wholeText(walk: Walk): string {
  joinPieces(walk);
  return $.joinParts(walk.joined, "");
}

function tooLarge(walk: Walk): Error {
  return limitError("the value is too large: its JSON has more than " + walk.caps.bytes + " bytes");
}

/** Counts values against the cap. */
export function spend(walk: Walk, nodes: number): void {
  walk.nodes += nodes;
  if (walk.nodes > walk.caps.nodes) {
    throw limitError("the value is too large: it has more than " + walk.caps.nodes + " parts");
  }
}

/** Replaces an object by what its own or its class's toJSON returns. */
export function applyToJSON(walk: Walk, value: any, key: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  try {
    const method = findToJSON(value);
    return typeof method === "function" ? $.apply(method, value, [key]) : value;
  } catch (error) {
    if (!walk.lenient) throw error;
    return "[unreadable]";
  }
}

function findToJSON(value: any): unknown {
  if (!$.hasOwn($.objectPrototype, "toJSON") && !$.hasOwn($.arrayPrototype, "toJSON")) return value.toJSON;
  for (let at = value; at !== null && at !== $.objectPrototype && at !== $.arrayPrototype; at = $.getPrototypeOf(at)) {
    if ($.hasOwn(at, "toJSON")) return $.reflectGet(at, "toJSON", value);
  }
  return undefined;
}

/** Writes one value after its toJSON; what JSON has no word for is written as null. */
export function writeItem(walk: Walk, value: any): void {
  if (typeof value === "object" && value !== null) writeObject(walk, value);
  else emit(walk, scalarText(walk, value));
}

/** The JSON of a value that is no object. */
export function scalarText(walk: Walk, value: any): string {
  spend(walk, 1);
  switch (typeof value) {
    case "string":
      if (walk.lenient) return quote(clip(value, walk.caps.chars));
      if (value.length > walk.caps.bytes) throw tooLarge(walk);
      return stringText(walk, value);
    case "number":
      return value - value === 0 ? "" + value : "null";
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      return '"' + value + '"';
  }
  return "null";
}

function writeObject(walk: Walk, value: object): void {
  spend(walk, 1);
  const depth = walk.depth;
  for (let i = 0; i < depth; i++) {
    if (walk.around[i] === value) return emit(walk, '"[Circular]"');
  }
  if (depth >= walk.caps.depth) {
    if (walk.lenient) return emit(walk, '"…"');
    throw limitError("the value is nested more than " + walk.caps.depth + " levels deep");
  }
  walk.around[depth] = value;
  walk.depth = depth + 1;
  if ($.isArray(value)) writeArray(walk, value);
  else if (!writeBuiltin(walk, value)) writePlain(walk, value);
  walk.depth = depth;
}

/** How many of a container's entries to visit. Too many fail before any is visited. */
export function bounded(walk: Walk, entries: number): number {
  if (walk.lenient) return entries > walk.caps.entries ? walk.caps.entries : entries;
  spend(walk, entries);
  walk.nodes -= entries;
  return entries;
}

function writeArray(walk: Walk, value: any): void {
  const length = lengthOf(value);
  const visit = bounded(walk, length);
  let out = "[";
  for (let i = 0; i < visit; i++) {
    if (i > 0) out += ",";
    let item = readProperty(walk, value, i);
    if (typeof item === "object" && item !== null) item = applyToJSON(walk, item, "" + i);
    if (typeof item === "object" && item !== null) {
      emit(walk, out);
      out = "";
      writeObject(walk, item);
    } else {
      out += scalarText(walk, item);
      if (out.length > pieceLength) {
        emit(walk, out);
        out = "";
      }
    }
  }
  emit(walk, out + restNote(length - visit, visit) + "]");
}

function lengthOf(value: any): number {
  const length = +value.length;
  return length > 0 ? (length > 0xffffffff ? 0xffffffff : $.floor(length)) : 0;
}

function writePlain(walk: Walk, value: any): void {
  const keys = $.keysOf(value);
  const visit = bounded(walk, keys.length);
  let first = true;
  let out = "{";
  for (let i = 0; i < visit; i++) {
    const key = keys[i]!;
    let item = readProperty(walk, value, key);
    if (typeof item === "object" && item !== null) item = applyToJSON(walk, item, key);
    const type = typeof item;
    if (type === "undefined" || type === "function" || type === "symbol") continue;
    out += (first ? "" : ",") + nameText(walk, key) + ":";
    first = false;
    if (type === "object" && item !== null) {
      emit(walk, out);
      out = "";
      writeObject(walk, item as object);
    } else {
      out += scalarText(walk, item);
      if (out.length > pieceLength) {
        emit(walk, out);
        out = "";
      }
    }
  }
  emit(walk, out + restNote(keys.length - visit, first ? 0 : 1) + "}");
}

/** A property name as JSON. Names repeat, so the walk remembers some. */
function nameText(walk: Walk, key: string): string {
  const known = walk.names[key];
  if (known !== undefined) return known;
  const text = stringText(walk, walk.lenient ? clip(key, walk.caps.chars) : key);
  if (walk.known < maxKnownNames) {
    walk.known++;
    walk.names[key] = text;
  }
  return text;
}

/** Reads a property; a lenient walk survives its getter. */
export function readProperty(walk: Walk, value: any, key: string | number): unknown {
  if (!walk.lenient) return value[key];
  try {
    return value[key];
  } catch {
    return "[getter threw]";
  }
}

/** Notes the entries that a lenient walk leaves out. */
export function restNote(rest: number, written: number): string {
  return rest > 0 ? (written > 0 ? "," : "") + "… " + rest + " more" : "";
}

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

import * as $ from "./intrinsics";
import { Kind } from "./intrinsics";
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

interface Walk {
  caps: Caps;
  lenient: boolean;
  parts: string[];
  count: number;
  units: number;
  nodes: number;
  depth: number;
  active: Set<object>;
}

const overLimit = new $.WeakSetConstructor<object>();

/** Whether an error says that a value was too big to convert. */
export function isLimitError(error: any): boolean {
  return typeof error === "object" && error !== null && $.weakSetHas(overLimit, error);
}

/** The error for a value that passes a cap. */
export function limitError(message: string): Error {
  const error = new $.ErrorConstructor(message);
  $.define(error, "code", "invalid_input", true, true);
  $.weakSetAdd(overLimit, error);
  return error;
}

/** Converts strictly: the text is complete or an error is thrown. */
export function toJSONText(value: unknown, caps: Caps): string {
  const walk = newWalk(caps, false);
  writeValue(walk, applyToJSON(walk, value, ""));
  const text = $.joinParts(walk.parts, "");
  if (text.length * 3 > caps.bytes && utf8Size(text) > caps.bytes) throw tooLarge(walk);
  return text;
}

/** Converts leniently: never throws, and names what it left out. */
export function toNote(value: unknown, caps: Caps): string {
  const walk = newWalk(caps, true);
  try {
    writeValue(walk, applyToJSON(walk, value, ""));
  } catch (error) {
    push(walk, isLimitError(error) ? "…" : "[unreadable]");
  }
  return $.joinParts(walk.parts, "");
}

function newWalk(caps: Caps, lenient: boolean): Walk {
  return {
    __proto__: null,
    caps,
    lenient,
    parts: $.newList(),
    count: 0,
    units: 0,
    nodes: 0,
    depth: 0,
    active: new $.SetConstructor<object>(),
  } as Walk;
}

function push(walk: Walk, text: string): void {
  walk.parts[walk.count++] = text;
}

function emit(walk: Walk, text: string): void {
  walk.units += text.length;
  if (walk.units > walk.caps.bytes) throw tooLarge(walk);
  push(walk, text);
}

function tooLarge(walk: Walk): Error {
  return limitError("the value is too large: its JSON has more than " + walk.caps.bytes + " bytes");
}

/** Counts values before they are visited, so that a huge length fails at once. */
function spend(walk: Walk, nodes: number): void {
  walk.nodes += nodes;
  if (walk.nodes > walk.caps.nodes) {
    throw limitError("the value is too large: it has more than " + walk.caps.nodes + " parts");
  }
}

/** Replaces an object by what its own or its class's toJSON returns. */
function applyToJSON(walk: Walk, value: any, key: string): unknown {
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

function isAbsent(value: unknown): boolean {
  const type = typeof value;
  return type === "undefined" || type === "function" || type === "symbol";
}

/** Writes one value; what JSON has no word for is written as null. */
function writeValue(walk: Walk, value: any): void {
  spend(walk, 1);
  switch (typeof value) {
    case "string":
      return emit(walk, quote(walk.lenient ? clip(value, walk.caps.chars) : value));
    case "number":
      return emit(walk, numberText(value));
    case "boolean":
      return emit(walk, value ? "true" : "false");
    case "bigint":
      return emit(walk, '"' + value + '"');
    case "object":
      if (value !== null) return writeObject(walk, value);
  }
  emit(walk, "null");
}

/** NaN and the infinities have no JSON form. */
function numberText(value: number): string {
  return value - value === 0 ? "" + value : "null";
}

function writeObject(walk: Walk, value: object): void {
  if ($.setHas(walk.active, value)) return emit(walk, '"[Circular]"');
  if (walk.depth >= walk.caps.depth) {
    if (walk.lenient) return emit(walk, '"…"');
    throw limitError("the value is nested more than " + walk.caps.depth + " levels deep");
  }
  $.setAdd(walk.active, value);
  walk.depth++;
  if (!writeBuiltin(walk, value, $.kindOf(value))) writePlain(walk, value);
  walk.depth--;
  $.setDelete(walk.active, value);
}

/** Writes an instance of a built-in class; false if it only looks like one. */
function writeBuiltin(walk: Walk, value: any, kind: Kind): boolean {
  switch (kind) {
    case Kind.Array:
      writeArray(walk, value);
      return true;
    case Kind.Error:
      writeError(walk, value);
      return true;
    case Kind.TypedArray:
      if ($.typedArrayName(value) === undefined) return false;
      writeNumbers(walk, value);
      return true;
    case Kind.Plain:
      return false;
  }
  return writeSlotted(walk, value, kind);
}

/** Writes an object by its internal slot, whose absence a getter reports by throwing. */
function writeSlotted(walk: Walk, value: any, kind: Kind): boolean {
  let slot: any;
  try {
    slot = readSlot(value, kind);
  } catch {
    return false;
  }
  switch (kind) {
    case Kind.Date:
      emit(walk, slot === slot ? quote($.dateToISOString(value)) : "null");
      return true;
    case Kind.Map:
      writeMap(walk, value, slot);
      return true;
    case Kind.Set:
      writeSet(walk, value, slot);
      return true;
    case Kind.RegExp:
      emit(walk, quote($.regExpToString(value)));
      return true;
    case Kind.Boxed:
      writeValue(walk, slot);
      return true;
  }
  writeNumbers(walk, slot);
  return true;
}

function readSlot(value: any, kind: Kind): any {
  switch (kind) {
    case Kind.Date:
      return $.dateGetTime(value);
    case Kind.Map:
      return $.mapSize(value);
    case Kind.Set:
      return $.setSize(value);
    case Kind.RegExp:
      return $.regExpSource(value);
    case Kind.ArrayBuffer:
      return $.arrayBufferByteLength(value) === 0 ? $.newList() : new $.Uint8ArrayConstructor(value);
    case Kind.DataView:
      return new $.Uint8ArrayConstructor(
        $.dataViewBuffer(value),
        $.dataViewByteOffset(value),
        $.dataViewByteLength(value),
      );
  }
  return unbox(value);
}

function unbox(value: any): unknown {
  try {
    return $.stringValueOf(value);
  } catch {}
  try {
    return $.numberValueOf(value);
  } catch {}
  try {
    return $.booleanValueOf(value);
  } catch {}
  try {
    return $.bigIntValueOf(value);
  } catch {}
  return $.symbolValueOf(value);
}

/** How many of a container's entries to visit. */
function bounded(walk: Walk, entries: number): number {
  if (walk.lenient) return entries > walk.caps.entries ? walk.caps.entries : entries;
  spend(walk, entries);
  walk.nodes -= entries;
  return entries;
}

function writeArray(walk: Walk, value: any): void {
  const length = lengthOf(value);
  const visit = bounded(walk, length);
  emit(walk, "[");
  for (let i = 0; i < visit; i++) {
    if (i > 0) emit(walk, ",");
    writeValue(walk, applyToJSON(walk, readProperty(walk, value, i as any), "" + i));
  }
  writeRest(walk, length - visit, visit);
  emit(walk, "]");
}

function lengthOf(value: any): number {
  const length = +value.length;
  return length > 0 ? (length > 0xffffffff ? 0xffffffff : $.floor(length)) : 0;
}

function writePlain(walk: Walk, value: any): void {
  const keys = $.keysOf(value);
  const visit = bounded(walk, keys.length);
  let first = true;
  emit(walk, "{");
  for (let i = 0; i < visit; i++) {
    const key = keys[i]!;
    const item = applyToJSON(walk, readProperty(walk, value, key), key);
    if (isAbsent(item)) continue;
    emit(walk, (first ? "" : ",") + quote(walk.lenient ? clip(key, walk.caps.chars) : key) + ":");
    first = false;
    writeValue(walk, item);
  }
  writeRest(walk, keys.length - visit, first ? 0 : 1);
  emit(walk, "}");
}

function readProperty(walk: Walk, value: any, key: string): unknown {
  if (!walk.lenient) return value[key];
  try {
    return value[key];
  } catch {
    return "[getter threw]";
  }
}

/** Notes the entries that a lenient walk leaves out. */
function writeRest(walk: Walk, rest: number, written: number): void {
  if (rest > 0) emit(walk, (written > 0 ? "," : "") + "… " + rest + " more");
}

function writeError(walk: Walk, value: any): void {
  const name = readProperty(walk, value, "name");
  const message = readProperty(walk, value, "message");
  emit(walk, '{"name":');
  writeValue(walk, typeof name === "string" ? name : "Error");
  emit(walk, ',"message":');
  writeValue(walk, typeof message === "string" ? message : "");
  emit(walk, "}");
}

function writeMap(walk: Walk, value: any, size: number): void {
  const visit = bounded(walk, size);
  let seen = 0;
  emit(walk, "[");
  $.mapForEach(value, (item: unknown, key: unknown) => {
    if (walk.lenient && seen >= visit) return;
    if (seen++ > 0) emit(walk, ",");
    spend(walk, 1);
    emit(walk, "[");
    writeValue(walk, applyToJSON(walk, key, "0"));
    emit(walk, ",");
    writeValue(walk, applyToJSON(walk, item, "1"));
    emit(walk, "]");
  });
  writeRest(walk, size - visit, seen);
  emit(walk, "]");
}

function writeSet(walk: Walk, value: any, size: number): void {
  const visit = bounded(walk, size);
  let seen = 0;
  emit(walk, "[");
  $.setForEach(value, (item: unknown) => {
    if (walk.lenient && seen >= visit) return;
    if (seen > 0) emit(walk, ",");
    writeValue(walk, applyToJSON(walk, item, "" + seen++));
  });
  writeRest(walk, size - visit, seen);
  emit(walk, "]");
}

/** Writes a typed array, or the empty list of an empty buffer. */
function writeNumbers(walk: Walk, value: any): void {
  const length = $.isArray(value) ? 0 : $.typedArrayLength(value);
  const visit = bounded(walk, length);
  emit(walk, "[");
  for (let i = 0; i < visit; i++) {
    if (i > 0) emit(walk, ",");
    writeValue(walk, value[i]);
  }
  writeRest(walk, length - visit, visit);
  emit(walk, "]");
}

// Conversion of the built-in classes: each is recognised by its internal slots,
// so that an object with a borrowed prototype converts as the plain object it is.

import { applyToJSON, bounded, emit, pieceLength, readProperty, restNote, scalarText, spend, writeItem, writePromise, type Walk } from "./convert";
import * as $ from "./intrinsics";
import { Kind } from "./kind";
import { quote } from "./strings";

/** Writes an instance of a built-in class other than Array; false if it is none. */
export function writeBuiltin(walk: Walk, value: any): boolean {
  const kind = $.kindOf(value);
  switch (kind) {
    case Kind.Plain:
    case Kind.Resource:
      return false;
    case Kind.Error:
      writeError(walk, value);
      return true;
    case Kind.Promise:
      writePromise(walk);
      return true;
    case Kind.TypedArray:
      if ($.typedArrayName(value) === undefined) return false;
      writeNumbers(walk, value);
      return true;
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
      emit(walk, scalarText(walk, slot));
      return true;
  }
  writeNumbers(walk, slot);
  return true;
}

/** Reads the internal slot that an object of a kind must have; throws if it lacks it. */
export function readSlot(value: any, kind: Kind): any {
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
      return $.arrayBufferByteLength(value) === 0 ? noBytes : new $.Uint8ArrayConstructor(value);
    case Kind.DataView:
      return new $.Uint8ArrayConstructor(
        $.dataViewBuffer(value),
        $.dataViewByteOffset(value),
        $.dataViewByteLength(value),
      );
  }
  return unbox(value);
}

/** Stands for the content of an empty or detached buffer. */
const noBytes = new $.Uint8ArrayConstructor(0);

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

function writeError(walk: Walk, value: any): void {
  const name = readProperty(walk, value, "name");
  const message = readProperty(walk, value, "message");
  const nameText = scalarText(walk, typeof name === "string" ? name : "Error");
  const messageText = scalarText(walk, typeof message === "string" ? message : "");
  emit(walk, '{"name":' + nameText + ',"message":' + messageText + "}");
}

function writeMap(walk: Walk, value: any, size: number): void {
  const visit = bounded(walk, size);
  let seen = 0;
  emit(walk, "[");
  $.mapForEach(value, (item: unknown, key: unknown) => {
    if (walk.lenient && seen >= visit) return;
    spend(walk, 1);
    emit(walk, seen++ > 0 ? ",[" : "[");
    writeItem(walk, applyToJSON(walk, key, "0"));
    emit(walk, ",");
    writeItem(walk, applyToJSON(walk, item, "1"));
    emit(walk, "]");
  });
  emit(walk, restNote(size - visit, seen) + "]");
}

function writeSet(walk: Walk, value: any, size: number): void {
  const visit = bounded(walk, size);
  let seen = 0;
  emit(walk, "[");
  $.setForEach(value, (item: unknown) => {
    if (walk.lenient && seen >= visit) return;
    if (seen > 0) emit(walk, ",");
    writeItem(walk, applyToJSON(walk, item, "" + seen++));
  });
  emit(walk, restNote(size - visit, seen) + "]");
}

/** Writes a typed array. No guest code runs meanwhile. */
function writeNumbers(walk: Walk, value: any): void {
  const length = $.typedArrayLength(value);
  const visit = bounded(walk, length);
  const quotes = length > 0 && typeof value[0] === "bigint" ? '"' : "";
  spend(walk, visit);
  let out = "[";
  for (let i = 0; i < visit; i++) {
    const number = value[i];
    if (i > 0) out += ",";
    out += quotes !== "" ? quotes + number + quotes : number - number === 0 ? number : "null";
    if (out.length > pieceLength) {
      emit(walk, out);
      out = "";
    }
  }
  emit(walk, out + restNote(length - visit, visit) + "]");
}

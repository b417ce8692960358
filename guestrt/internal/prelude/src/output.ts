// What the guest emits: text(), json() and, through note, console lines.

import { limitError, toJSONText } from "./convert";
import { errorLine, isError } from "./errors";
import * as $ from "./intrinsics";
import { caps, maxOutputItems } from "./limits";
import { Purpose } from "./purpose";
import { quote, utf8Size } from "./strings";

let items = "";
let count = 0;
let bytes = 0;
let dropped = 0;

/** Emits text: strings as they are, other values in readable form. */
export const text = (value?: unknown): void => {
  add('["text",' + quote(readable(value)) + "]");
};

/** Emits a structured value. */
export const json = (value?: unknown): void => {
  add('["json",' + toJSONText(value, caps, Purpose.Result) + "]");
};

/** Emits a console line, or counts it as dropped when this turn's output is full. */
export function note(line: string): void {
  const item = '["text",' + quote(line) + "]";
  const size = utf8Size(item);
  if (!fits(size)) dropped++;
  else append(item, size);
}

/** Takes the output since the last call, as a JSON array. */
export function takeOutput(): string {
  if (dropped > 0) append('["text","[' + dropped + ' console lines dropped: output limit of one turn]"]', 0);
  const taken = "[" + items + "]";
  items = "";
  count = bytes = dropped = 0;
  return taken;
}

function add(item: string): void {
  const size = utf8Size(item);
  if (!fits(size)) {
    throw limitError(
      "too much output in one turn: the limit is " + (maxOutputItems - 1) + " items and " + caps.bytes + " bytes",
    );
  }
  append(item, size);
}

/** One item stays free for the note about dropped lines. */
function fits(size: number): boolean {
  return count < maxOutputItems - 1 && bytes + size <= caps.bytes;
}

/** Only the first line can fail, when stack or memory run out: an item is in or not. */
function append(item: string, size: number): void {
  items = count === 0 ? item : items + "," + item;
  bytes += size;
  count++;
}

/** A value as a reader wants to see it. Throws what strict conversion throws. */
export function readable(value: any): string {
  switch (typeof value) {
    case "string":
      return value;
    case "symbol":
      return $.symbolToString(value);
    case "function":
      return functionText(value);
    case "object":
      if (value !== null) return isError(value) ? errorLine(value) : toJSONText(value, caps, Purpose.Result);
  }
  return "" + value;
}

/** A function's readable form, from its own name if that is plain data. */
export function functionText(value: any): string {
  try {
    const name = $.getOwnDescriptor(value, "name");
    const label = name === undefined ? undefined : $.ownValue(name, "value");
    return typeof label === "string" && label !== "" ? "[function " + label + "]" : "[function]";
  } catch {
    return "[function]";
  }
}

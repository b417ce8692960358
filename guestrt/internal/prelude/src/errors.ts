// Errors in both directions: those the bridge hands to the guest, and the
// account of a failure that leaves it.

import { isLimitError, toNote, type Caps } from "./convert";
import * as $ from "./intrinsics";
import { Kind } from "./kind";
import { newError } from "./raise";
import { clip, quote } from "./strings";

/** What a failed bridge call carries besides its message. */
export interface CallError {
  message?: string;
  code?: string;
  toolId?: string;
  effectStatus?: string;
  retryable?: boolean;
  details?: unknown;
}

const maxName = 256;
const maxMessage = 8192;
const maxStack = 8192;
const noteCaps: Caps = { __proto__: null, nodes: 500, depth: 4, bytes: maxMessage, entries: 50, chars: 1000 } as any;

/** The errors of calls that failed in the host. */
const callErrors = new $.WeakSetConstructor<object>();

/** The error for a call that the guest made wrongly. */
export function inputError(message: string, toolId?: string): Error {
  const error = newError(message);
  $.define(error, "code", "invalid_input", true, true);
  if (toolId !== undefined) $.define(error, "toolId", toolId, true, true);
  return error;
}

/** Turns the error made when a call was issued into the one it fails with. */
export function fillError(error: Error, from: CallError): Error {
  describeError(error, from);
  $.weakSetAdd(callErrors, error);
  return error;
}

/** Gives an error what the host says of a failure that is no call's. */
export function describeError(error: Error, from: CallError): void {
  const message = $.ownValue(from, "message");
  $.define(error, "message", typeof message === "string" ? message : "the call failed", false, true);
  copyField(error, from, "code");
  copyField(error, from, "toolId");
  copyField(error, from, "effectStatus");
  if ($.ownValue(from, "retryable") === true) $.define(error, "retryable", true, true, true);
  const details = $.ownValue(from, "details");
  if (details !== undefined) $.define(error, "details", details, true, true);
}

function copyField(error: Error, from: CallError, key: string): void {
  const value = $.ownValue(from, key);
  if (typeof value === "string" && value !== "") $.define(error, key, value, true, true);
}

/** Names a value's type for a message about a wrong argument. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "object" && $.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : typeof value;
}

/** Whether a value is an Error or an instance of a class that extends it. */
export function isError(value: unknown): boolean {
  try {
    return typeof value === "object" && value !== null && $.kindOf(value) === Kind.Error;
  } catch {
    return false;
  }
}

/** Writes an error as "Name: message", with the errors that it holds. */
export function errorLine(error: any): string {
  const name = readText(error, "name", "Error");
  const message = fullMessage(error);
  return name === "" ? message : message === "" ? name : name + ": " + message;
}

const maxInner = 10;
const maxInnerLine = 500;

/** The errors inside an AggregateError, such as "[Error: a; Error: b]". Never throws. */
function innerErrors(error: any): string {
  let out = "";
  try {
    if ($.kindOf(error) !== Kind.Error || !$.hasOwn(error, "errors")) return "";
    const inner = error.errors;
    if (!$.isArray(inner)) return "";
    for (let i = 0; i < inner.length && i < maxInner; i++) {
      const item = inner[i];
      const line = isError(item)
        ? readText(item, "name", "Error") + ": " + readText(item, "message", "")
        : thrownText(item);
      out += (i > 0 ? "; " : "[") + clip(line, maxInnerLine);
    }
    if (inner.length > maxInner) out += "; … " + (inner.length - maxInner) + " more";
  } catch {}
  return out === "" ? "" : out + "]";
}

/** An error's message, with the errors that it holds. */
function fullMessage(error: any): string {
  const message = readText(error, "message", "");
  const inner = innerErrors(error);
  return message === "" || inner === "" ? message + inner : message + " " + inner;
}

/** Reads a property that should be a string. Guest getters may run, and may throw. */
function readText(holder: any, key: string, missing: string): string {
  try {
    const value = holder[key];
    return typeof value === "string" ? value : missing;
  } catch {
    return missing;
  }
}

/**
 * The failure report of a thrown value, as JSON. In place of the kind given it
 * is "value_limit" if a value was too big to convert, and "call_failed" if
 * the error is that of a failed call.
 */
export function failureJSON(thrown: any, kind: string): string {
  let name = "";
  let message: string;
  let stack = "";
  if (isError(thrown)) {
    name = readText(thrown, "name", "Error");
    message = fullMessage(thrown);
    stack = readText(thrown, "stack", "");
    kind = exceptionKind(thrown) || kind;
  } else {
    message = thrownText(thrown);
  }
  return (
    '{"name":' + quote(clip(name, maxName)) +
    ',"message":' + quote(clip(message, maxMessage)) +
    ',"stack":' + quote(clip(stack, maxStack)) +
    ',"kind":' + quote(kind) + "}"
  );
}

/** What an error itself says of the kind; "" if nothing. */
function exceptionKind(error: object): string {
  if (isLimitError(error)) return "value_limit";
  return $.weakSetHas(callErrors, error) ? "call_failed" : "";
}

function thrownText(thrown: any): string {
  switch (typeof thrown) {
    case "string":
      return thrown;
    case "symbol":
      return $.symbolToString(thrown);
    case "function":
      return "[function]";
    case "object":
      return thrown === null ? "null" : toNote(thrown, noteCaps);
  }
  return "" + thrown;
}

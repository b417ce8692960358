// The life of one cell: its promise, its failures, and the report of a turn.

import { pendingCalls, takeRequests } from "./bridge";
import { toJSONText } from "./convert";
import { failureJSON } from "./errors";
import * as $ from "./intrinsics";
import { caps } from "./limits";
import type { Native } from "./native";
import { takeOutput } from "./output";
import { Purpose } from "./purpose";
import { endFiring, isolate, untilNext } from "./timers";

const unhandled = new $.MapConstructor<object, { reason: unknown }>();
/** The JSON of the value once the cell has returned. */
let value = "";
/** The failure report once the cell has thrown, or a callback of its has. */
let failure = "";
let settled = false;

/** Runs the cell and waits for its promise. */
export function runCell(cell: () => Promise<unknown>): void {
  try {
    const promise = cell();
    isolate(promise);
    $.promiseThen(promise, returned, threw);
  } catch (error) {
    threw(error);
  }
}

function returned(result: unknown): void {
  try {
    value = toJSONText(result, caps, Purpose.Result);
    settled = true;
  } catch (error) {
    threw(error);
  }
}

function threw(error: unknown): void {
  if (failure === "") failure = failureJSON(error, "exception");
  settled = true;
}

/** Takes an exception that no guest code can catch any more: a callback threw it. */
export function callbackThrew(error: unknown): void {
  if (failure === "") failure = failureJSON(error, "exception");
}

/** Whether nothing the guest still does can count. */
export function isOver(): boolean {
  return pendingCalls() === 0 && (settled || failure !== "");
}

/** The report of this turn. It empties the queues. */
export function drain(native: Native): string {
  trackRejections(native);
  endFiring();
  const status = statusJSON();
  return (
    "{" + status +
    ',"o":' + takeOutput() +
    ',"r":' + takeRequests() +
    ',"p":' + pendingCalls() +
    ',"t":' + (isOver() ? -1 : untilNext()) + "}"
  );
}

function statusJSON(): string {
  if (pendingCalls() > 0) return '"s":0';
  if (failure === "" && (settled || untilNext() < 0)) failure = unhandledFailure();
  if (failure !== "") return '"s":2,"e":' + failure;
  return settled ? '"s":1,"v":' + value : '"s":0';
}

/** Books what the engine noted about rejected promises. */
function trackRejections(native: Native): void {
  const list = native.rejections;
  for (let i = 0; i + 2 < list.length; i += 3) {
    if (list[i] === 0) $.mapSet(unhandled, list[i + 1], { __proto__: null, reason: list[i + 2] });
    else $.mapDelete(unhandled, list[i + 1]);
  }
  for (let i = 0; i < list.length; i++) list[i] = undefined;
  list.length = 0;
}

/** The report of the first rejection that nobody handled, or "". */
function unhandledFailure(): string {
  let report = "";
  $.mapForEach(unhandled, (entry: { reason: unknown }) => {
    if (report === "") report = failureJSON(entry.reason, "unhandled_rejection");
  });
  return report;
}

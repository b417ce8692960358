// Bridge calls: the requests that leave the guest and the promises that wait
// for their answers.

import { limitError, toJSONText } from "./convert";
import { fillError, inputError } from "./errors";
import * as $ from "./intrinsics";
import { caps, maxPending } from "./limits";
import { Purpose } from "./purpose";
import { newError } from "./raise";
import { isAborted, onAbort, reasonOf, type Signal } from "./signals";
import { quote, utf8Size } from "./strings";

interface Pending {
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
  error: Error;
  /** Ends the watch of the call's signal; undefined without one. */
  release: (() => void) | undefined;
  /** Completes the value that the call resolves to; undefined for most. */
  complete: Complete | undefined;
}

/** Adds to a value that has come from the host and that no guest has seen. */
export type Complete = (value: unknown) => void;

const pending = new $.MapConstructor<number, Pending>();
let lastID = 0;
let requests = "";
let bytes = 0;
/** The ids of calls that were cancelled since the last drain. */
let cancelled = "";

/** How many calls wait for an answer. */
export function pendingCalls(): number {
  return $.mapSize(pending);
}

/**
 * Issues a call. The fields are JSON texts, which follow the id in the request.
 * The promise is the engine's own; whatever a guest makes of its prototype is
 * the guest's affair. A signal that aborts gives the call up.
 */
export function request(fields: string, toolId?: string, signal?: Signal, complete?: Complete): Promise<unknown> {
  if (signal !== undefined && isAborted(signal)) return rejected(reasonOf(signal));
  if (pendingCalls() >= maxPending) {
    const error = inputError("too many pending calls: at most " + maxPending + " may wait at once", toolId);
    $.define(error, "code", "too_many_pending_tool_calls", true, true);
    return rejected(error);
  }
  const id = lastID + 1;
  const item = (requests === "" ? "[" : ",[") + id + "," + fields + "]";
  const size = utf8Size(item);
  if (bytes + size > caps.bytes + 4096) {
    return rejected(limitError("the calls issued at once carry more than " + caps.bytes + " bytes"));
  }
  const call = { __proto__: null, error: newError(""), release: undefined, complete } as unknown as Pending;
  const promise = new $.PromiseConstructor<unknown>((resolve, reject) => {
    $.define(call, "resolve", resolve, true, true);
    $.define(call, "reject", reject, true, true);
  });
  // Memory may run out up to here. The call is booked and queued, or neither.
  const queued = requests + item;
  $.mapSet(pending, id, call);
  lastID = id;
  requests = queued;
  bytes += size;
  if (signal !== undefined) call.release = onAbort(signal, (why) => cancel(id, call, why));
  return promise;
}

/**
 * Gives a call up: its promise rejects at once, and the host is told. The call
 * stays pending until the host has answered it.
 */
function cancel(id: number, call: Pending, reason: unknown): void {
  call.reject(reason);
  cancelled += (cancelled === "" ? "" : ",") + id;
}

/** Answers a call; false if none of that id waits. */
export function settle(id: number, ok: boolean, json: string): boolean {
  const call: Pending | undefined = $.mapGet(pending, id);
  if (call === undefined) return false;
  $.mapDelete(pending, id);
  if (call.release !== undefined) call.release();
  let value: any;
  try {
    value = json === "" ? undefined : $.parseJSON(json);
    if (ok && call.complete !== undefined) call.complete(value);
  } catch (error) {
    call.reject(error);
    return true;
  }
  if (ok) call.resolve(value);
  else call.reject(fillError(call.error, value));
  return true;
}

/** Takes the requests since the last call, as a JSON array. */
export function takeRequests(): string {
  if (cancelled !== "") {
    requests += (requests === "" ? "[" : ",[") + ++lastID + ',"cancel",null,[' + cancelled + "]]";
    cancelled = "";
  }
  const taken = "[" + requests + "]";
  requests = "";
  bytes = 0;
  return taken;
}

/** A promise that is rejected already, for a call that was made wrongly. */
export function rejected(reason: unknown): Promise<never> {
  return new $.PromiseConstructor<never>((_, reject) => reject(reason));
}

/** A call's input, or its list of arguments, as JSON. */
export function argumentsJSON(value: unknown): string {
  return toJSONText(value, caps, Purpose.Input);
}

/** A string as a request field. */
export function field(text: string): string {
  return quote(text);
}

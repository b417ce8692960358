// Timers and microtasks. The host keeps the time: drain says when the next
// timer is due, and the engine fires those that are.

import { typeName } from "./errors";
import * as $ from "./intrinsics";
import { typeError } from "./raise";

interface Timer {
  id: number;
  due: number;
  every: number;
  callback: Function;
  args: unknown[];
  before: Timer;
  after: Timer;
  /** The firing during or after which it was queued. */
  round: number;
}

const maxDelay = 0x7fffffff;
const byID = new $.MapConstructor<number, Timer>();
const queue: Timer = { __proto__: null, id: 0, due: 0, every: 0, round: 0 } as any;
$.define(queue, "before", queue, true, true);
$.define(queue, "after", queue, true, true);
let lastID = 0;
/** Counts the firings. */
let round = 0;
let firing = false;

/** Adds the timer functions and queueMicrotask; fail takes what a callback throws. */
export function installTimers(add: (name: string, value: Function) => void, fail: (error: unknown) => void): void {
  add("setTimeout", (callback: unknown, delay?: any, ...args: unknown[]) =>
    start("setTimeout", callback, delay, args, false),
  );
  add("setInterval", (callback: unknown, delay?: any, ...args: unknown[]) =>
    start("setInterval", callback, delay, args, true),
  );
  add("clearTimeout", (id?: unknown) => stop(id));
  add("clearInterval", (id?: unknown) => stop(id));
  const settled = new $.PromiseConstructor<void>((resolve) => resolve());
  isolate(settled);
  add("queueMicrotask", (callback: unknown) => {
    expectFunction("queueMicrotask", callback);
    $.promiseThen(settled, () => {
      try {
        $.apply(callback as Function, undefined, []);
      } catch (error) {
        fail(error);
      }
    });
  });
}

/** Gives a promise its own constructor, so that then() asks no patched prototype. */
export function isolate(promise: Promise<unknown>): void {
  $.define(promise, "constructor", { __proto__: null }, false, false);
}

/** Milliseconds until the next timer is due; -1 without a timer. */
export function untilNext(): number {
  if (queue.after === queue) return -1;
  const wait = queue.after.due - $.now();
  return wait > 0 ? wait : 0;
}

/** Ends a firing: the next one takes in the timers that were set meanwhile. */
export function endFiring(): void {
  firing = false;
}

/**
 * Runs one due timer. A timer that is set while timers fire waits for the next
 * firing, so that a chain of zero delays cannot keep calls from leaving.
 */
export function fireOne(fail: (error: unknown) => void): boolean {
  if (!firing) round++;
  firing = true;
  const time = $.now();
  let timer = queue.after;
  while (timer !== queue && timer.round >= round && timer.due <= time) timer = timer.after;
  if (timer === queue || timer.due > time) return false;
  unlink(timer);
  if (timer.every > 0) insert(timer, time + timer.every);
  else $.mapDelete(byID, timer.id);
  try {
    $.apply(timer.callback, undefined, timer.args);
  } catch (error) {
    fail(error);
  }
  return true;
}

/** Calls a function of the prelude after a delay of any length up to 24 days. */
export function afterDelay(delay: number, callback: () => void): void {
  schedule(callback, delay > maxDelay ? maxDelay : $.floor(delay), [], false);
}

function start(caller: string, callback: unknown, delay: any, args: unknown[], repeat: boolean): number {
  expectFunction(caller, callback);
  return schedule(callback as Function, clampDelay(+delay, repeat ? 1 : 0), args, repeat);
}

function schedule(callback: Function, wait: number, args: unknown[], repeat: boolean): number {
  const id = ++lastID;
  const timer = {
    __proto__: null,
    id,
    due: 0,
    every: repeat ? wait : 0,
    callback,
    args,
    before: undefined,
    after: undefined,
    round: 0,
  } as unknown as Timer;
  timer.before = timer.after = timer;
  $.mapSet(byID, id, timer);
  insert(timer, $.now() + wait);
  return id;
}

/** A delay as browsers read it: one beyond 32 bits wraps around, and Infinity is none. */
function clampDelay(delay: number, min: number): number {
  const wait = delay | 0;
  return wait > min ? wait : min;
}

function expectFunction(caller: string, callback: unknown): void {
  if (typeof callback !== "function") {
    throw typeError(caller + " expects a function, got " + typeName(callback));
  }
}

function stop(id: unknown): void {
  const timer: Timer | undefined = $.mapGet(byID, id);
  if (timer === undefined) return;
  $.mapDelete(byID, id);
  unlink(timer);
}

/** Keeps the queue in the order of due times, and of creation among equals. */
function insert(timer: Timer, due: number): void {
  timer.due = due;
  timer.round = round;
  let before = queue.before;
  while (before !== queue && before.due > due) before = before.before;
  timer.before = before;
  timer.after = before.after;
  before.after.before = timer;
  before.after = timer;
}

function unlink(timer: Timer): void {
  timer.before.after = timer.after;
  timer.after.before = timer.before;
}

// performance: a clock that never runs backwards.

import * as $ from "./intrinsics";
import { defineGetter } from "./lazy";

/** The time at which this run began, and the latest that now has returned. */
let origin = 0;
let latest = 0;

/** Sets the clock to zero. Once, when the run begins: a template has no time. */
export function startClock(): void {
  origin = $.now();
}

/**
 * Milliseconds since the run began, suspended time included. It is made of the wall
 * clock, which another machine, or an operator, may have set back.
 */
export function now(): number {
  const time = $.now() - origin;
  if (time > latest) latest = time;
  return latest;
}

/** Builds performance. */
export function newPerformance(): object {
  const performance = $.createObject(null);
  $.define(performance, "now", $.freeze(now), true, false);
  defineGetter(performance, "timeOrigin", true, () => origin);
  return $.freeze(performance);
}

// The errors that the prelude itself makes.

import * as $ from "./intrinsics";
import type { Native } from "./native";

let make: Native["error"];

/** Takes the engine's way of making errors. Once, before any is made. */
export function setNative(native: Native): void {
  make = native.error;
}

/** An error whose stack shows the guest's own frames. */
export function newError(message: string): Error {
  return make(message, $.ErrorConstructor);
}

/** The error for an argument of the wrong type. */
export function typeError(message: string): Error {
  return make(message, $.TypeErrorConstructor);
}

/** The error for a value out of range. */
export function rangeError(message: string): Error {
  return make(message, $.RangeErrorConstructor);
}

/** An error that is told by its name, such as "AbortError". */
export function namedError(name: string, message: string): Error {
  const error = newError(message);
  $.define(error, "name", name, false, true);
  return error;
}

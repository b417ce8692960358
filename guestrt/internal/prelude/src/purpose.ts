// What a conversion to JSON is for.

export const enum Purpose {
  /** A result or an output: a promise that was not awaited is named. */
  Result,
  /** A value to use later: a promise throws, because what it stands for is missing. */
  Keep,
  /** The input of a call: half of a surrogate pair throws, too, because it has no UTF-8. */
  Input,
}

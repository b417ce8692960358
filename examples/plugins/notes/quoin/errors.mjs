// Failures as the protocol carries them.

import { Effect, Kind } from "./messages.mjs";

// Failure is an error that travels to the host as it is: its kind says who is to
// blame, its code is a word for programs, its message is for the model. more may
// have details, any value with a JSON form; retryable, if the same call may succeed
// later; and effect, what the call has changed all the same.
export class Failure extends Error {
  constructor(kind, code, message, { details, retryable = false, effect = Effect.UNSPECIFIED } = {}) {
    super(message);
    Object.assign(this, { kind, code, details, retryable, effect });
  }
}

// ToolError is what tools throw to say that they could not do what was asked.
// The program that called the tool catches it with its code and its details.
export class ToolError extends Failure {
  constructor(code, message, details, more) {
    super(Kind.TOOL, code, message, { details, ...more });
  }
}

export const invalidInput = (message) => new Failure(Kind.INPUT, "invalid_input", message);

// toWire is an error as an Error message. One that nobody meant to throw is a
// fault of the plugin.
export function toWire(e, where) {
  if (!(e instanceof Failure)) {
    e = new Failure(Kind.PLUGIN, "plugin_panic", `${where} failed unexpectedly: ${e?.message ?? e}`);
  }
  const details = e.details === undefined ? undefined : Buffer.from(JSON.stringify(e.details));
  return { kind: e.kind, code: e.code, message: e.message, details, retryable: e.retryable, effect: e.effect };
}

// Failures as the protocol carries them.

import { Kind } from "./messages.mjs";

// Failure is an error that travels to the host as it is: its kind says who is to
// blame, its code is a word for programs, its message is for the model.
export class Failure extends Error {
  constructor(kind, code, message, details) {
    super(message);
    this.kind = kind;
    this.code = code;
    this.details = details;
  }
}

// ToolError is what tools throw to say that they could not do what was asked.
// The program that called the tool catches it with its code and its details, any
// value with a JSON form.
export class ToolError extends Failure {
  constructor(code, message, details) {
    super(Kind.TOOL, code, message, details);
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
  return { kind: e.kind, code: e.code, message: e.message, details };
}

// Abort signals as the bridge sees them. Their class is built when a guest first
// touches it; until then no value is a signal.

import { typeName } from "./errors";
import * as $ from "./intrinsics";
import { typeError } from "./raise";

/** A value that the extra "abort" knows as a signal of its own. */
export interface Signal {
  readonly signal: unique symbol;
}

/** What the class lets the bridge do with its signals, whatever a guest makes of its prototype. */
export interface Signals {
  isSignal(value: unknown): value is Signal;
  isAborted(signal: Signal): boolean;
  reasonOf(signal: Signal): unknown;
  hook(signal: Signal, hook: () => void): void;
  unhook(signal: Signal, hook: () => void): void;
}

let signals: Signals | undefined;

/** Takes the class's side, when it is built. */
export function setSignals(from: Signals): void {
  signals = from;
}

function isSignal(value: unknown): value is Signal {
  return signals !== undefined && signals.isSignal(value);
}

/** The signal of an options object; undefined without one. Another value refuses. */
export function signalOption(caller: string, options: unknown): Signal | undefined {
  const signal = $.ownValue(options, "signal");
  if (signal === undefined || signal === null) return undefined;
  if (!isSignal(signal)) throw typeError(caller + " expects signal to be an AbortSignal, got " + typeName(signal));
  return signal;
}

/** The signal of a last argument {signal} that holds nothing else; undefined if it is another value. */
export function trailingSignal(value: unknown): Signal | undefined {
  const signal = $.ownValue(value, "signal");
  return isSignal(signal) && $.ownKeys(value as object).length === 1 ? signal : undefined;
}

/** Takes the last of a list of arguments off if it is {signal}, and returns the signal. */
export function takeSignal(args: unknown[]): Signal | undefined {
  const signal = args.length > 0 ? trailingSignal(args[args.length - 1]) : undefined;
  if (signal !== undefined) args.length--;
  return signal;
}

/**
 * Takes the signal out of the options that are the last of a list of arguments. Options
 * that hold nothing else are taken off.
 */
export function takeSignalOption(args: unknown[]): Signal | undefined {
  if (signals === undefined || args.length === 0) return undefined;
  const options: any = args[args.length - 1];
  const signal = $.ownValue(options, "signal");
  if (!isSignal(signal)) return undefined;
  if ($.ownKeys(options).length === 1) {
    args.length--;
    return signal;
  }
  const rest = $.createObject(null);
  const keys = $.keysOf(options);
  for (let i = 0; i < keys.length; i++) {
    if (keys[i] !== "signal") $.define(rest, keys[i]!, options[keys[i]!], true, true);
  }
  args[args.length - 1] = rest;
  return signal;
}

export function isAborted(signal: Signal): boolean {
  return signals!.isAborted(signal);
}

export function reasonOf(signal: Signal): unknown {
  return signals!.reasonOf(signal);
}

/** Calls hook when a signal aborts. The result stops that. */
export function onAbort(signal: Signal, hook: (reason: unknown) => void): () => void {
  const call = () => hook(reasonOf(signal));
  signals!.hook(signal, call);
  return () => signals!.unhook(signal, call);
}

// AbortController and AbortSignal. Signals also cancel bridge calls.

import type { Core, Extra } from "../extra";
import type { Signals } from "../signals";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, afterDelay, fail, namedError, setSignals, typeError, typeName, webClass } = core;

  type Hook = () => void;

  interface Listener {
    callback: any;
    once: boolean;
  }

  /** Only the functions below make signals. */
  const permission = {};

  let abortNow: (signal: AbortSignal, reason: unknown) => void;
  let hookInto: (signal: AbortSignal, hook: Hook) => void;
  let unhook: (signal: AbortSignal, hook: Hook) => void;
  let brand: (value: any) => boolean;
  let aborted: (signal: AbortSignal) => boolean;
  let reasonOf: (signal: AbortSignal) => unknown;

  class AbortSignal {
    #aborted = false;
    #reason: unknown = undefined;
    #hooks = new $.SetConstructor<Hook>();
    #listeners = new $.SetConstructor<Listener>();
    #onabort: unknown = null;

    constructor(by?: unknown) {
      if (by !== permission) throw typeError("Illegal constructor: signals come from an AbortController");
    }

    static {
      aborted = (signal) => signal.#aborted;
      reasonOf = (signal) => signal.#reason;
      brand = (value) => typeof value === "object" && value !== null && #aborted in value;
      hookInto = (signal, hook) => $.setAdd(signal.#hooks, hook);
      unhook = (signal, hook) => $.setDelete(signal.#hooks, hook);
      abortNow = (signal, reason) => {
        if (signal.#aborted) return;
        signal.#aborted = true;
        signal.#reason = reason === undefined ? namedError("AbortError", "This operation was aborted") : reason;
        const hooks = signal.#hooks;
        signal.#hooks = new $.SetConstructor();
        $.setForEach(hooks, (hook: Hook) => hook());
        signal.#fire();
      };
    }

    get aborted(): boolean {
      return this.#aborted;
    }

    get reason(): unknown {
      return this.#reason;
    }

    get onabort(): unknown {
      return this.#onabort;
    }

    set onabort(callback: unknown) {
      this.#onabort = typeof callback === "function" ? callback : null;
    }

    throwIfAborted(): void {
      if (this.#aborted) throw this.#reason;
    }

    addEventListener(type: unknown, callback: any, options?: any): void {
      if ("" + type !== "abort" || callback === null || callback === undefined) return;
      if (typeof callback !== "function" && typeof callback !== "object") {
        throw typeError("addEventListener expects a function, got " + typeName(callback));
      }
      const once = typeof options === "object" && options !== null && !!options.once;
      if (this.#find(callback) === undefined) $.setAdd(this.#listeners, { __proto__: null, callback, once });
    }

    removeEventListener(type: unknown, callback?: any): void {
      if ("" + type === "abort") $.setDelete(this.#listeners, this.#find(callback));
    }

    #find(callback: unknown): Listener | undefined {
      let found: Listener | undefined;
      $.setForEach(this.#listeners, (listener: Listener) => {
        if (listener.callback === callback) found = listener;
      });
      return found;
    }

    #fire(): void {
      const event = $.freeze({ type: "abort", target: this, currentTarget: this });
      if (this.#onabort !== null) notify(this.#onabort, this, event);
      $.setForEach(this.#listeners, (listener: Listener) => {
        if (listener.once) $.setDelete(this.#listeners, listener);
        notify(listener.callback, this, event);
      });
    }

    static abort(reason?: unknown): AbortSignal {
      const signal = new signalType(permission);
      abortNow(signal, reason);
      return signal;
    }

    static timeout(delay: unknown): AbortSignal {
      const wait = +(delay as any);
      if (!(wait >= 0)) throw typeError("AbortSignal.timeout expects a number of milliseconds that is not negative");
      const signal = new signalType(permission);
      afterDelay(wait, () => abortNow(signal, namedError("TimeoutError", "The operation was aborted due to timeout")));
      return signal;
    }

    static any(signals: unknown): AbortSignal {
      const list = typeof signals === "object" && signals !== null ? $.listOf(signals) : undefined;
      if (list === undefined) throw typeError("AbortSignal.any expects a list of signals, got " + typeName(signals));
      for (let i = 0; i < list.length; i++) {
        if (!brand(list[i])) throw typeError("AbortSignal.any expects a list of signals, and item " + i + " is none");
      }
      const signal = new signalType(permission);
      for (let i = 0; i < list.length; i++) {
        if (list[i].#aborted) {
          abortNow(signal, list[i].#reason);
          return signal;
        }
      }
      for (let i = 0; i < list.length; i++) hookInto(list[i], () => abortNow(signal, list[i].#reason));
      return signal;
    }
  }

  const signalType = AbortSignal;

  /** Calls a listener. What it throws fails the cell, as in a timer. */
  function notify(callback: any, signal: AbortSignal, event: object): void {
    try {
      if (typeof callback === "function") $.apply(callback, signal, [event]);
      else $.apply(callback.handleEvent, callback, [event]);
    } catch (error) {
      fail(error);
    }
  }

  class AbortController {
    #signal = new signalType(permission);

    get signal(): AbortSignal {
      return this.#signal;
    }

    abort(reason?: unknown): void {
      abortNow(this.#signal, reason);
    }
  }

  setSignals({ isSignal: brand, isAborted: aborted, reasonOf, hook: hookInto, unhook } as unknown as Signals);
  return { __proto__: null, AbortController: webClass(AbortController), AbortSignal: webClass(AbortSignal) } as Record<string, unknown>;
};

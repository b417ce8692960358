// Array.fromAsync, which the engine lacks. It follows the specification, so that
// what a guest makes of its iterators and of then counts.

import type { Core, Extra } from "../extra";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, isolate, typeError, typeName } = core;

  type Then = (value: any) => void;

  /** Calls back with what a value settles to. */
  function settle(value: unknown, done: Then, failed: Then): void {
    const promise = new $.PromiseConstructor<unknown>((resolve) => resolve(value));
    isolate(promise);
    $.promiseThen(promise, (result: unknown) => {
      try {
        done(result);
      } catch (error) {
        failed(error);
      }
    }, failed);
  }

  /** Where values come from: read calls back with each, or with done. */
  interface Source {
    read(index: number, got: (value: unknown, done: boolean) => void, failed: Then): void;
    /** Tells an iterator that no more will be read of it, and then calls back. */
    close(then: () => void): void;
  }

  function iteratorSource(items: any, method: any, isAsync: boolean): Source {
    const iterator: any = $.apply(method, items, []);
    const next = iterator.next;
    const read = (step: any, got: (value: unknown, done: boolean) => void, failed: Then) => {
      if ((typeof step !== "object" || step === null) && typeof step !== "function") {
        throw typeError("the iterator returned " + typeName(step) + " in place of an object");
      }
      if (step.done) return got(undefined, true);
      if (isAsync) got(step.value, false);
      else settle(step.value, (value) => got(value, false), failed);
    };
    return {
      __proto__: null,
      read: (_: number, got: (value: unknown, done: boolean) => void, failed: Then) => {
        const step = $.apply(next, iterator, []);
        if (isAsync) settle(step, (result) => read(result, got, failed), failed);
        else read(step, got, failed);
      },
      close: (then: () => void) => {
        const end = iterator.return;
        if (typeof end !== "function") then();
        else settle($.apply(end, iterator, []), then, then);
      },
    } as unknown as Source;
  }

  function listSource(items: any): Source {
    const size = +items.length;
    const length = size > 0 ? $.floor(size) : 0;
    return {
      __proto__: null,
      read: (index: number, got: (value: unknown, done: boolean) => void, failed: Then) => {
        if (index >= length) got(undefined, true);
        else settle(items[index], (value) => got(value, false), failed);
      },
      close: (then: () => void) => then(),
    } as unknown as Source;
  }

  function sourceOf(items: any): Source {
    if (items === undefined || items === null) throw typeError("Array.fromAsync expects something to read, got " + typeName(items));
    const asyncMethod = items[$.asyncIteratorSymbol];
    if (asyncMethod !== undefined && asyncMethod !== null) return iteratorSource(items, asyncMethod, true);
    const method = items[$.iteratorSymbol];
    return method !== undefined && method !== null ? iteratorSource(items, method, false) : listSource($.toObject(items));
  }

  /** The work: reads, maps and stores one value after the other. */
  function collect(type: any, items: any, mapper: any, self: any, resolve: Then, reject: Then): void {
    if (mapper !== undefined && typeof mapper !== "function") {
      throw typeError("Array.fromAsync expects a function to map with, got " + typeName(mapper));
    }
    const source = sourceOf(items);
    const list: any = typeof type === "function" ? new type() : [];
    let index = 0;
    const give = (error: unknown) => source.close(() => reject(error));
    const store = (value: unknown) => {
      $.define(list, index++, value, true, true);
      next();
    };
    const got = (value: unknown, done: boolean) => {
      if (done) {
        list.length = index;
        return resolve(list);
      }
      try {
        if (mapper === undefined) store(value);
        else settle($.apply(mapper, self, [value, index]), store, give);
      } catch (error) {
        give(error);
      }
    };
    const next = () => source.read(index, got, reject);
    next();
  }

  const fromAsync = (type: unknown, items: unknown, mapper: unknown, self: unknown): Promise<unknown> =>
    new $.PromiseConstructor<unknown>((resolve, reject) => {
      try {
        collect(type, items, mapper, self, resolve, reject);
      } catch (error) {
        reject(error);
      }
    });

  return { __proto__: null, fromAsync } as Record<string, unknown>;
};

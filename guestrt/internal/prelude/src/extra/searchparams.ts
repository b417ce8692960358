// URLSearchParams: the pairs of a query in application/x-www-form-urlencoded.

import type { Core, Extra } from "../extra";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, typeError, typeName, webClass } = core;
  const utf8Bytes = (part: string): Uint8Array => core.load("encoding").utf8Bytes(part);

  interface Pair {
    name: string;
    value: string;
  }

  /** Makes the parameters of a URL; changed takes each new query. */
  let linkedParams: (query: string, changed: (query: string) => void) => URLSearchParams;
  /** Replaces the parameters of a URL after its query has changed. */
  let replaceParams: (params: URLSearchParams, query: string) => void;

  const hex = "0123456789ABCDEF";

  class URLSearchParams {
    #pairs: Pair[] = $.newList();
    #changed: ((query: string) => void) | undefined;

    static {
      linkedParams = (query, changed) => {
        const params = new paramsType();
        params.#pairs = parseQuery(query);
        params.#changed = changed;
        return params;
      };
      replaceParams = (params, query) => {
        params.#pairs = parseQuery(query);
      };
    }

    constructor(init?: any) {
      if (init === undefined) return;
      if (typeof init === "object" && init !== null) this.#pairs = pairsOf(init);
      else this.#pairs = parseQuery(text(init));
    }

    get size(): number {
      return this.#pairs.length;
    }

    append(name: unknown, value: unknown): void {
      add(this.#pairs, text(name), text(value));
      this.#update();
    }

    delete(name: unknown, value?: unknown): void {
      const wanted = matcher(name, value);
      const kept: Pair[] = $.newList();
      for (let i = 0; i < this.#pairs.length; i++) {
        const pair = this.#pairs[i]!;
        if (!wanted(pair)) kept[kept.length] = pair;
      }
      this.#pairs = kept;
      this.#update();
    }

    get(name: unknown): string | null {
      const pair = this.#find(matcher(name));
      return pair === undefined ? null : pair.value;
    }

    getAll(name: unknown): string[] {
      const wanted = matcher(name);
      const values: string[] = [];
      for (let i = 0; i < this.#pairs.length; i++) {
        const pair = this.#pairs[i]!;
        if (wanted(pair)) $.define(values, values.length, pair.value, true, true);
      }
      return values;
    }

    has(name: unknown, value?: unknown): boolean {
      return this.#find(matcher(name, value)) !== undefined;
    }

    set(name: unknown, value: unknown): void {
      const key = text(name);
      const to = text(value);
      const kept: Pair[] = $.newList();
      let found = false;
      for (let i = 0; i < this.#pairs.length; i++) {
        const pair = this.#pairs[i]!;
        if (pair.name !== key) kept[kept.length] = pair;
        else if (!found) found = add(kept, key, to);
      }
      if (!found) add(kept, key, to);
      this.#pairs = kept;
      this.#update();
    }

    sort(): void {
      $.sortList(this.#pairs, (a: Pair, b: Pair) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
      this.#update();
    }

    forEach(callback: any, self?: unknown): void {
      if (typeof callback !== "function") {
        throw typeError("URLSearchParams.forEach expects a function, got " + typeName(callback));
      }
      for (let i = 0; i < this.#pairs.length; i++) {
        const pair = this.#pairs[i]!;
        $.apply(callback, self, [pair.value, pair.name, this]);
      }
    }

    keys(): object {
      return this.#iterate((pair) => pair.name);
    }

    values(): object {
      return this.#iterate((pair) => pair.value);
    }

    entries(): object {
      return this.#iterate((pair) => [pair.name, pair.value]);
    }

    toString(): string {
      return writeQuery(this.#pairs);
    }

    #find(wanted: (pair: Pair) => boolean): Pair | undefined {
      for (let i = 0; i < this.#pairs.length; i++) if (wanted(this.#pairs[i]!)) return this.#pairs[i];
      return undefined;
    }

    #update(): void {
      if (this.#changed !== undefined) this.#changed(writeQuery(this.#pairs));
    }

    #iterate(pick: (pair: Pair) => unknown): object {
      let at = 0;
      const next = () =>
        at < this.#pairs.length ? { value: pick(this.#pairs[at++]!), done: false } : { value: undefined, done: true };
      const iterator = $.createObject($.iteratorPrototype);
      $.define(iterator, "next", next, false, true);
      return iterator;
    }
  }

  const paramsType = URLSearchParams;
  $.define(URLSearchParams.prototype, $.iteratorSymbol, URLSearchParams.prototype.entries, false, true);

  function text(value: unknown): string {
    return $.wellFormed("" + value);
  }

  function add(pairs: Pair[], name: string, value: string): true {
    pairs[pairs.length] = { __proto__: null, name, value } as any;
    return true;
  }

  function matcher(name: unknown, value?: unknown): (pair: Pair) => boolean {
    const key = text(name);
    if (value === undefined) return (pair) => pair.name === key;
    const wanted = text(value);
    return (pair) => pair.name === key && pair.value === wanted;
  }

  /** The pairs of a list of pairs, or of an object's own properties. */
  function pairsOf(init: any): Pair[] {
    const pairs: Pair[] = $.newList();
    const list = $.listOf(init);
    if (list === undefined) {
      const keys = $.keysOf(init);
      for (let i = 0; i < keys.length; i++) add(pairs, text(keys[i]!), text(init[keys[i]!]));
      return pairs;
    }
    for (let i = 0; i < list.length; i++) {
      const pair = typeof list[i] === "object" && list[i] !== null ? $.listOf(list[i]) : undefined;
      if (pair === undefined || pair.length !== 2) {
        throw typeError("URLSearchParams expects each item to be a pair [name, value], and item " + i + " is none");
      }
      add(pairs, text(pair[0]), text(pair[1]));
    }
    return pairs;
  }

  function parseQuery(query: string): Pair[] {
    const pairs: Pair[] = $.newList();
    let from = query[0] === "?" ? 1 : 0;
    while (from < query.length) {
      const found = $.indexOfText(query, "&", from);
      const to = found < 0 ? query.length : found;
      const equals = $.indexOfText(query, "=", from);
      const split = equals < 0 || equals > to ? to : equals;
      if (to > from) add(pairs, decode($.sliceText(query, from, split)), split < to ? decode($.sliceText(query, split + 1, to)) : "");
      from = to + 1;
    }
    return pairs;
  }

  /** Undoes percent-encoding, and plus for blanks. */
  function decode(part: string): string {
    if ($.indexOfText(part, "%") < 0 && $.indexOfText(part, "+") < 0) return part;
    const bytes = utf8Bytes(part);
    const length = $.typedArrayLength(bytes);
    let size = 0;
    for (let i = 0; i < length; i++) {
      let byte = bytes[i]!;
      if (byte === 0x2b) byte = 0x20;
      else if (byte === 0x25 && i + 2 < length) {
        const high = digit(bytes[i + 1]!);
        const low = digit(bytes[i + 2]!);
        if (high >= 0 && low >= 0) {
          byte = high * 16 + low;
          i += 2;
        }
      }
      bytes[size++] = byte;
    }
    return core.load("encoding").textOfUTF8(bytes, size);
  }

  function digit(byte: number): number {
    if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
    const letter = byte | 0x20;
    return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
  }

  function writeQuery(pairs: Pair[]): string {
    let out = "";
    for (let i = 0; i < pairs.length; i++) {
      const pair = pairs[i]!;
      out += (i > 0 ? "&" : "") + encode(pair.name) + "=" + encode(pair.value);
    }
    return out;
  }

  const plain = /^[A-Za-z0-9*._-]*$/;

  function encode(part: string): string {
    if ($.matchText(plain, part) !== null) return part;
    const bytes = utf8Bytes(part);
    const length = $.typedArrayLength(bytes);
    let out = "";
    for (let i = 0; i < length; i++) {
      const byte = bytes[i]!;
      if (byte === 0x20) out += "+";
      else if (isPlain(byte)) out += $.fromCharCode(byte);
      else out += "%" + hex[byte >> 4] + hex[byte & 15];
    }
    return out;
  }

  function isPlain(byte: number): boolean {
    const letter = byte | 0x20;
    return (
      (letter >= 0x61 && letter <= 0x7a) || (byte >= 0x30 && byte <= 0x39) ||
      byte === 0x2a || byte === 0x2d || byte === 0x2e || byte === 0x5f
    );
  }

  return { __proto__: null, URLSearchParams: webClass(URLSearchParams), linkedParams, replaceParams } as Record<string, unknown>;
};

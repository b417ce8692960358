// URL. Its parser is the worker's; the object holds the parts as text.

import type { Core, Extra } from "../extra";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, clip, native, typeError, webClass } = core;

  /** The parts of a URL, in the order in which the worker lists them. */
  const enum Part {
    Href,
    Origin,
    Protocol,
    Username,
    Password,
    Host,
    Hostname,
    Port,
    Pathname,
    Search,
    Hash,
  }

  function parse(url: unknown, base: unknown): string[] | undefined {
    const text = native.url($.wellFormed("" + url), base === undefined ? undefined : $.wellFormed("" + base), undefined, undefined);
    return text === undefined ? undefined : $.parseJSON(text);
  }

  function mustParse(url: unknown, base: unknown): string[] {
    const parts = parse(url, base);
    if (parts === undefined) {
      const against = base === undefined ? "" : " with the base " + clip("" + base, 200);
      throw typeError("Invalid URL: " + clip("" + url, 200) + against);
    }
    return parts;
  }

  class URL {
    #parts: string[];
    #params: object | undefined;

    constructor(url: unknown, base?: unknown) {
      this.#parts = mustParse(url, base);
    }

    static canParse(url: unknown, base?: unknown): boolean {
      return parse(url, base) !== undefined;
    }

    static parse(url: unknown, base?: unknown): URL | null {
      return parse(url, base) === undefined ? null : new urlType(url, base);
    }

    get href(): string {
      return this.#parts[Part.Href]!;
    }

    set href(value: unknown) {
      this.#parts = mustParse(value, undefined);
      this.#refresh();
    }

    get origin(): string {
      return this.#parts[Part.Origin]!;
    }

    get protocol(): string {
      return this.#parts[Part.Protocol]!;
    }

    set protocol(value: unknown) {
      this.#change("protocol", value);
    }

    get username(): string {
      return this.#parts[Part.Username]!;
    }

    set username(value: unknown) {
      this.#change("username", value);
    }

    get password(): string {
      return this.#parts[Part.Password]!;
    }

    set password(value: unknown) {
      this.#change("password", value);
    }

    get host(): string {
      return this.#parts[Part.Host]!;
    }

    set host(value: unknown) {
      this.#change("host", value);
    }

    get hostname(): string {
      return this.#parts[Part.Hostname]!;
    }

    set hostname(value: unknown) {
      this.#change("hostname", value);
    }

    get port(): string {
      return this.#parts[Part.Port]!;
    }

    set port(value: unknown) {
      this.#change("port", value);
    }

    get pathname(): string {
      return this.#parts[Part.Pathname]!;
    }

    set pathname(value: unknown) {
      this.#change("pathname", value);
    }

    get search(): string {
      return this.#parts[Part.Search]!;
    }

    set search(value: unknown) {
      this.#change("search", value);
      this.#refresh();
    }

    get hash(): string {
      return this.#parts[Part.Hash]!;
    }

    set hash(value: unknown) {
      this.#change("hash", value);
    }

    get searchParams(): object {
      const params: object = this.#params || core.load("searchparams").linkedParams(this.#parts[Part.Search]!, (query: string) => this.#change("search", query));
      this.#params = params;
      return params;
    }

    toString(): string {
      return this.#parts[Part.Href]!;
    }

    toJSON(): string {
      return this.#parts[Part.Href]!;
    }

    /** A value that does not fit leaves the URL as it is. */
    #change(part: string, value: unknown): void {
      const text = native.url(this.#parts[Part.Href]!, undefined, part, $.wellFormed("" + value));
      if (text !== undefined) this.#parts = $.parseJSON(text);
    }

    #refresh(): void {
      if (this.#params !== undefined) core.load("searchparams").replaceParams(this.#params, this.#parts[Part.Search]!);
    }
  }

  const urlType = URL;

  return { __proto__: null, URL: webClass(URL) } as Record<string, unknown>;
};

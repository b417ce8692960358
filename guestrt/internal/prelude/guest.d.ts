// The world of a program: what exists beside the standard objects of ES2023,
// which are all there but SharedArrayBuffer and Atomics.
//
// A program is the body of an async function: await and return work at its top
// level, and its result is the value it returns, converted by the rules of
// JSON.stringify. A promise in it that was not awaited is only named; in the input
// of a call it is refused. TypeScript is not checked: types are erased. "using" works
// in TypeScript alone. There are no modules, no files, no network and no processes.
//
// tools/*.d.ts, namespaces/*.d.ts, mcp/*.d.ts and programs/*.d.ts declare what this run
// can call.

/** One tool of this run, as it is listed. */
interface ToolEntry {
  readonly id: string;
  readonly name: string;
  readonly label?: string;
  readonly description: string;
  readonly source: "quoin" | "mcp" | "client";
  readonly sourceName?: string;
  /** Of a tool of an MCP server, in what search finds: how it is called. */
  readonly call?: string;
}

/** One tool with its schemas. */
interface ToolDescription extends ToolEntry {
  /** JSON Schema of the input. */
  readonly parameters: Record<string, unknown>;
  /** JSON Schema of the result, if the tool has one. */
  readonly output?: Record<string, unknown>;
  /** Calls that work. */
  readonly examples?: readonly { readonly description?: string; readonly input: any; readonly output?: any }[];
}

/** The error of a call that failed. */
interface CallError extends Error {
  readonly code?: string;
  readonly toolId?: string;
  /**
   * What the call has changed although it failed: nothing, perhaps something, or all
   * that was asked for. Look before you repeat an "unknown" one.
   */
  readonly effectStatus?: "none" | "unknown" | "done";
  /** The same call may succeed later. */
  readonly retryable?: true;
  /** What the tool says beside its message. */
  readonly details?: any;
}

/** What may follow the input of a call. */
interface CallOptions {
  /** Gives the call up when it aborts: its promise rejects with the signal's reason, and the tool is told. */
  readonly signal?: AbortSignal | null;
}

interface Tools {
  /** Finds tools, those of MCP servers too; a blank query lists all. */
  search(query?: string | null, options?: { limit?: number } | null): Promise<ToolEntry[]>;
  /** Describes a tool by its id or unique name. */
  describe(id: string): Promise<ToolDescription>;
  /** Calls a tool by its id or unique name. A failure rejects with a CallError. */
  call(id: string, input?: any, options?: CallOptions | null): Promise<any>;
  /**
   * One function (input, options?: CallOptions) for every tool whose name is
   * unambiguous; characters that cannot stand in a name are "_". See tools/<name>.d.ts.
   */
  readonly [name: string]: any;
}

/** The tools of this run, without those of MCP servers. */
declare const ALL_TOOLS: readonly ToolEntry[];
/** The tools of this run: finds, describes and calls them. */
declare const tools: Tools;

/** The scopes of plugins, which are globals too: see namespaces/<Global>.d.ts. */
interface Namespaces {
  readonly [global: string]: any;
}

/** The visible namespaces by the names of their globals. */
declare const namespaces: Namespaces;

/** One MCP server: see mcp/<server>.d.ts. */
interface MCPServer {
  readonly $serverName: string;
  /** What the server's tools take, with schemas if asked for. */
  $api(tool?: string | null, options?: { schema?: boolean } | null): Promise<any>;
  readonly [tool: string]: any;
}

interface MCPServers {
  readonly [server: string]: MCPServer;
}

/** The MCP servers of this run, by name. */
declare const MCP: MCPServers;

interface APIFile {
  readonly path: string;
  readonly description: string;
  /** Its size in UTF-8. */
  readonly bytes: number;
}

/** The declaration files of this run, such as this one. */
declare const API: {
  readonly list: (prefix?: string | null) => Promise<{ readonly files: readonly APIFile[] }>;
  readonly read: (path: string) => Promise<APIFile & { readonly content: string }>;
};

/** Emits text: strings as they are, other values in readable form. */
declare function text(value?: unknown): void;
/** Emits a structured value. */
declare function json(value?: unknown): void;
/** Hands control back; goes on with the next wait. */
declare function yield_control(reason?: unknown): Promise<void>;

/** The inputs of saved programs, by name: programs/<name>.d.ts adds to it. */
interface ProgramInputs {}

/** A saved program, as it is listed. */
interface ProgramEntry {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly input: Record<string, unknown>;
}

/** Programs that were saved under a name: tools.search finds them too. */
declare const programs: {
  /** Runs a saved program in this run, with an input that fits its schema. Its value is the program's own. */
  readonly run: <N extends string>(
    name: N,
    input?: N extends keyof ProgramInputs ? ProgramInputs[N] : object,
    options?: CallOptions,
  ) => Promise<any>;
  /**
   * The input of the program that asks, laid over defaults; the defaults alone in a program that was not
   * run by its name. A program that is to be saved starts with
   * const { days } = programs.input({ days: 7 });
   */
  readonly input: <T extends object>(defaults?: T) => T;
  readonly list: () => readonly ProgramEntry[];
  /** Saves the newest program of this session that has completed, or that of runId, where the host allows it. */
  readonly save: (
    name: string,
    options?: {
      runId?: string;
      description?: string;
      /** JSON Schema of the input. */
      input?: object;
      /** An input, in place of its schema. */
      example?: object;
      replace?: boolean;
    },
  ) => Promise<ProgramEntry>;
};

/** Values put aside, as copies, until the run ends: at most 64, of limited size. */
declare const results: {
  /** Returns the name the value is saved by. */
  readonly save: {
    (value: unknown): string;
    (name: string, value: unknown): string;
  };
  /** A fresh copy. Throws if there is none of that name. */
  readonly load: (name: string) => any;
  /** Whether there was one. */
  readonly delete: (name: string) => boolean;
};

interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  trace(...values: unknown[]): void;
  dir(value?: unknown): void;
  dirxml(...values: unknown[]): void;
  table(value?: unknown): void;
  assert(condition?: unknown, ...values: unknown[]): void;
  clear(): void;
  group(...values: unknown[]): void;
  groupCollapsed(...values: unknown[]): void;
  groupEnd(): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...values: unknown[]): void;
  timeEnd(label?: string): void;
}

/** Writes bounded lines into the output. */
declare const console: Console;

/** A clock in whole milliseconds that never runs backwards. Time in which the run is suspended counts. */
declare const performance: {
  /** Milliseconds since the run began. */
  readonly now: () => number;
  /** When the run began, in milliseconds since 1970. */
  readonly timeOrigin: number;
};

interface SymbolConstructor {
  readonly dispose: unique symbol;
  readonly asyncDispose: unique symbol;
}

interface Disposable {
  [Symbol.dispose](): void;
}

interface AsyncDisposable {
  [Symbol.asyncDispose](): PromiseLike<void>;
}

interface ArrayConstructor {
  fromAsync<T>(items: AsyncIterable<T> | Iterable<T | PromiseLike<T>> | ArrayLike<T | PromiseLike<T>>): Promise<T[]>;
  fromAsync<T, U>(
    items: AsyncIterable<T> | Iterable<T | PromiseLike<T>> | ArrayLike<T | PromiseLike<T>>,
    map: (value: Awaited<T>, index: number) => U,
    self?: any,
  ): Promise<Awaited<U>[]>;
}

/** Timers do not keep a program running. */
declare function setTimeout<T extends unknown[]>(callback: (...args: T) => void, delay?: number, ...args: T): number;
/** Like setTimeout, again and again until clearInterval. */
declare function setInterval<T extends unknown[]>(callback: (...args: T) => void, delay?: number, ...args: T): number;
/** Stops a timer of setTimeout. */
declare function clearTimeout(id?: number): void;
/** Stops a timer of setInterval. */
declare function clearInterval(id?: number): void;
/** Calls back before the next timer or answer of a call. */
declare function queueMicrotask(callback: () => void): void;

/** A deep copy of plain data and of Map, Set, Date, RegExp, Error and binary data. */
declare function structuredClone<T>(value: T, options?: { transfer?: Iterable<ArrayBuffer> } | null): T;
/** Decodes base64 into a text of one byte a character. */
declare function atob(data: string): string;
/** Encodes a text of one byte a character as base64. */
declare function btoa(data: string): string;

/** Encodes texts as UTF-8. */
declare class TextEncoder {
  readonly encoding: string;
  encode(input?: string): Uint8Array<ArrayBuffer>;
  encodeInto(source: string, destination: Uint8Array): { read: number; written: number };
}

/** Knows utf-8 and utf-16le. */
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(input?: ArrayBufferLike | ArrayBufferView, options?: { stream?: boolean }): string;
}

/** A URL, parsed by the WHATWG standard. It makes no connection. */
declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  readonly searchParams: URLSearchParams;
  hash: string;
  toString(): string;
  toJSON(): string;
}

/** The query of a URL. */
declare class URLSearchParams {
  constructor(init?: string | Iterable<readonly [string, string]> | Record<string, string>);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(callback: (value: string, name: string, params: URLSearchParams) => void, self?: unknown): void;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

interface AbortEvent {
  readonly type: "abort";
  readonly target: AbortSignal;
  readonly currentTarget: AbortSignal;
}

type AbortListener = ((this: AbortSignal, event: AbortEvent) => void) | { handleEvent(event: AbortEvent): void };

/** Signals come from an AbortController, or from the functions here. */
declare class AbortSignal {
  private constructor();
  static abort(reason?: unknown): AbortSignal;
  /** Aborts after a delay in milliseconds. */
  static timeout(delay: number): AbortSignal;
  /** Aborts with the first of several. */
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((this: AbortSignal, event: AbortEvent) => void) | null;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: AbortListener | null, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: AbortListener | null): void;
}

/** Aborts its signal, for CallOptions. */
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

type IntegerArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** Random numbers. */
declare const crypto: {
  readonly getRandomValues: <T extends IntegerArray>(array: T) => T;
  readonly randomUUID: () => string;
};

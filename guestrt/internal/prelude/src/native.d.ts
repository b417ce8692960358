// The seam between the prelude and the engine.

import type { Extra } from "./extra";

/** What the engine gives the prelude. */
export interface Native {
  /** Reads a virtual host file; undefined if the file does not exist. Runs in the host. */
  file(path: string): string | undefined;
  /** Makes an error whose stack begins with the guest function that called the prelude. */
  error(message: string, kind: ErrorConstructor): Error;
  /**
   * Evaluates an extra, one of those that package prelude brings along, or a saved
   * program; undefined if there is none.
   */
  extra(name: string): Extra;
  /** Fills a part of a buffer with random bytes that no other guest and no clone of this one gets. */
  random(buffer: ArrayBufferLike, offset: number, length: number): void;
  /** Decodes a part of a buffer that is valid UTF-8; undefined if it is not. */
  utf8(buffer: ArrayBufferLike, offset: number, length: number): string | undefined;
  /**
   * Parses a URL, or with part and value changes one part of href. The answer is
   * JSON, an array: href, origin, protocol, username, password, host, hostname,
   * port, pathname, search, hash; undefined if the input is no URL.
   */
  url(href: string, base: string | undefined, part: string | undefined, value: string | undefined): string | undefined;
  /**
   * Promise rejections in the order in which they happened, appended by the
   * engine: flat triples of kind (0 rejected without handler, 1 handled after
   * all), promise, reason. The prelude reads them and sets length to 0.
   */
  rejections: { length: number; [index: number]: any };
}

/** What the prelude gives the engine. No guest code can reach it. */
export interface Entry {
  /** Installs the globals of this run and calls the cell. Once. */
  start(configJSON: string, cell: () => Promise<unknown>): void;
  /** Settles a bridge call; false if no such call is pending. */
  settle(id: number, ok: boolean, json: string): boolean;
  /** Runs one timer callback that is due; false if there is none. */
  fire(): boolean;
  /** Takes what happened since the last drain, as JSON. Guest getters may run. */
  drain(): string;
}

/** The configuration of one run, as start parses it. */
export interface Config {
  file?: string;
  namespaces?: [global: string, id: string][];
  limits?: {
    maxValueBytes?: number;
    maxNodes?: number;
    maxDepth?: number;
    maxOutputItems?: number;
  };
}

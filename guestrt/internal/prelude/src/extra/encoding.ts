// TextEncoder and TextDecoder, for UTF-8 and UTF-16LE.

import type { Core, Extra } from "../extra";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, clip, native, rangeError, textOfCodes, typeError, typeName, utf8Size, webClass } = core;

  /** Writes UTF-8 of text into bytes as far as whole characters fit. */
  function encodeInto(text: string, bytes: Uint8Array, room: number): { read: number; written: number } {
    let written = 0;
    let read = 0;
    while (read < text.length) {
      let code = $.charCodeAt(text, read);
      let units = 1;
      if (code >= 0xd800 && code <= 0xdfff) {
        const low = code < 0xdc00 && read + 1 < text.length ? $.charCodeAt(text, read + 1) : 0;
        if (low >= 0xdc00 && low <= 0xdfff) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          units = 2;
        } else {
          code = 0xfffd;
        }
      }
      const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (written + size > room) break;
      if (size === 1) {
        bytes[written++] = code;
      } else {
        bytes[written++] = leads[size]! | (code >> (6 * (size - 1)));
        for (let shift = 6 * (size - 2); shift >= 0; shift -= 6) bytes[written++] = 0x80 | ((code >> shift) & 0x3f);
      }
      read += units;
    }
    return { read, written };
  }

  /** The marks of the first byte, by the number of bytes. */
  const leads: Record<number, number> = { __proto__: null, 2: 0xc0, 3: 0xe0, 4: 0xf0 } as any;

  /** The UTF-8 of text. */
  function utf8Bytes(text: string): Uint8Array {
    const whole = $.wellFormed(text);
    const size = utf8Size(whole);
    const bytes = new $.Uint8ArrayConstructor(size);
    encodeInto(whole, bytes, size);
    return bytes;
  }

  /** The text of UTF-8 in the first length bytes; what is wrong becomes U+FFFD. */
  function textOfUTF8(bytes: Uint8Array, length: number): string {
    const sink = newSink(false);
    const rest = fresh();
    decodeUTF8(bytes, length, rest, sink);
    if (rest.wanted > 0) wrong(sink);
    flush(sink);
    return sink.text;
  }

  /** Encodes text as UTF-8. */
  class TextEncoder {
    get encoding(): string {
      return "utf-8";
    }

    encode(input?: unknown): Uint8Array {
      return utf8Bytes(input === undefined ? "" : "" + input);
    }

    encodeInto(source: unknown, destination: unknown): { read: number; written: number } {
      if (typeof destination !== "object" || destination === null || $.typedArrayName(destination) !== "Uint8Array") {
        throw typeError("TextEncoder.encodeInto expects a Uint8Array as its destination, got " + typeName(destination));
      }
      return encodeInto("" + source, destination as Uint8Array, $.typedArrayLength(destination));
    }
  }

  const labels: Record<string, string | undefined> = {
    __proto__: null,
    "utf-8": "utf-8",
    utf8: "utf-8",
    "unicode-1-1-utf-8": "utf-8",
    unicode11utf8: "utf-8",
    unicode20utf8: "utf-8",
    "x-unicode20utf8": "utf-8",
    "utf-16le": "utf-16le",
    "utf-16": "utf-16le",
    "ucs-2": "utf-16le",
    unicode: "utf-16le",
    unicodefeff: "utf-16le",
    csunicode: "utf-16le",
    "iso-10646-ucs-2": "utf-16le",
  } as any;

  /** What a decoder has read of a character that is not complete. */
  interface Rest {
    /** UTF-8: bits so far, bytes wanted, and the bounds of the next byte. */
    code: number;
    wanted: number;
    lower: number;
    upper: number;
    /** UTF-16: a first byte, and a high surrogate; -1 if there is none. */
    byte: number;
    high: number;
    /** Whether the start of the text is past, where a byte order mark may be. */
    begun: boolean;
  }

  function fresh(): Rest {
    return { __proto__: null, code: 0, wanted: 0, lower: 0x80, upper: 0xbf, byte: -1, high: -1, begun: false } as any;
  }

  /** Collects decoded text. */
  interface Sink {
    text: string;
    codes: number[];
    count: number;
    fatal: boolean;
  }

  const sinkSize = 16384;

  function newSink(fatal: boolean): Sink {
    return { __proto__: null, text: "", codes: $.newList(), count: 0, fatal } as any;
  }

  function put(sink: Sink, code: number): void {
    if (code > 0xffff) {
      put(sink, 0xd7c0 + (code >> 10));
      code = 0xdc00 + (code & 0x3ff);
    }
    sink.codes[sink.count++] = code;
    if (sink.count >= sinkSize && (code < 0xd800 || code > 0xdbff)) flush(sink);
  }

  function flush(sink: Sink): void {
    sink.text += textOfCodes(sink.codes, sink.count);
    sink.count = 0;
  }

  function wrong(sink: Sink): void {
    if (sink.fatal) throw typeError("TextDecoder: the bytes are not valid text in this encoding");
    put(sink, 0xfffd);
  }

  function decodeUTF8(bytes: Uint8Array, length: number, rest: Rest, sink: Sink): void {
    for (let i = 0; i < length; i++) {
      const byte = bytes[i]!;
      if (rest.wanted === 0) {
        if (byte < 0x80) put(sink, byte);
        else if (byte >= 0xc2 && byte <= 0xf4) begin(rest, byte);
        else wrong(sink);
        continue;
      }
      if (byte < rest.lower || byte > rest.upper) {
        rest.wanted = 0;
        wrong(sink);
        i--;
        continue;
      }
      rest.lower = 0x80;
      rest.upper = 0xbf;
      rest.code = (rest.code << 6) | (byte & 0x3f);
      if (--rest.wanted === 0) put(sink, rest.code);
    }
  }

  /** Takes the first byte of several. */
  function begin(rest: Rest, byte: number): void {
    rest.wanted = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    rest.code = byte & (byte < 0xe0 ? 0x1f : byte < 0xf0 ? 0x0f : 0x07);
    rest.lower = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
    rest.upper = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
  }

  /**
   * The text of bytes that are valid UTF-8 as a whole; undefined if they are not,
   * or too few for the engine to be faster than we are.
   */
  function wholeUTF8(bytes: Uint8Array, length: number): string | undefined {
    if (length < 64) return undefined;
    return native.utf8($.typedArrayBuffer(bytes), $.typedArrayByteOffset(bytes), length);
  }

  function decodeUTF16(bytes: Uint8Array, length: number, rest: Rest, sink: Sink): void {
    for (let i = 0; i < length; i++) {
      if (rest.byte < 0) {
        rest.byte = bytes[i]!;
        continue;
      }
      const unit = rest.byte | (bytes[i]! << 8);
      rest.byte = -1;
      const low = unit >= 0xdc00 && unit <= 0xdfff;
      if (rest.high >= 0) {
        const high = rest.high;
        rest.high = -1;
        if (low) {
          put(sink, high);
          put(sink, unit);
          continue;
        }
        wrong(sink);
      }
      if (unit >= 0xd800 && unit <= 0xdbff) rest.high = unit;
      else if (low) wrong(sink);
      else put(sink, unit);
    }
  }

  /** Decodes bytes to text. */
  class TextDecoder {
    #encoding: string;
    #fatal: boolean;
    #ignoreBOM: boolean;
    #rest = fresh();

    constructor(label?: unknown, options?: any) {
      const name = label === undefined ? "utf-8" : "" + label;
      const encoding = labels[$.lowerCase($.trimText(name))];
      if (encoding === undefined) {
        throw rangeError("TextDecoder knows utf-8 and utf-16le, not " + clip(name, 40));
      }
      this.#encoding = encoding;
      this.#fatal = option(options, "fatal");
      this.#ignoreBOM = option(options, "ignoreBOM");
    }

    get encoding(): string {
      return this.#encoding;
    }

    get fatal(): boolean {
      return this.#fatal;
    }

    get ignoreBOM(): boolean {
      return this.#ignoreBOM;
    }

    decode(input?: unknown, options?: any): string {
      const bytes = input === undefined ? new $.Uint8ArrayConstructor(0) : $.bytesOf(input);
      if (bytes === undefined) {
        throw typeError("TextDecoder.decode expects a buffer or a typed array, got " + typeName(input));
      }
      const stream = option(options, "stream");
      const sink = newSink(this.#fatal);
      const rest = this.#rest;
      this.#rest = fresh();
      const length = $.typedArrayLength(bytes);
      const whole = this.#encoding === "utf-8" && rest.wanted === 0 ? wholeUTF8(bytes, length) : undefined;
      if (whole !== undefined) sink.text = whole;
      else if (this.#encoding === "utf-8") decodeUTF8(bytes, length, rest, sink);
      else decodeUTF16(bytes, length, rest, sink);
      if (stream) this.#rest = rest;
      else if (rest.wanted > 0 || rest.byte >= 0 || rest.high >= 0) wrong(sink);
      flush(sink);
      const text = sink.text;
      if (rest.begun || text === "") return text;
      rest.begun = true;
      return !this.#ignoreBOM && $.charCodeAt(text, 0) === 0xfeff ? $.sliceText(text, 1) : text;
    }
  }

  /** An option of any kind of object; missing is false. */
  function option(options: any, key: string): boolean {
    if (options === undefined || options === null) return false;
    if (typeof options !== "object" && typeof options !== "function") {
      throw typeError("TextDecoder expects its options as an object, got " + typeName(options));
    }
    return !!options[key];
  }

  return { __proto__: null, TextDecoder: webClass(TextDecoder), TextEncoder: webClass(TextEncoder), textOfUTF8, utf8Bytes } as Record<string, unknown>;
};

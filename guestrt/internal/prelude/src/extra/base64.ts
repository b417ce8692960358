// atob and btoa: base64 of strings whose characters are bytes.

import type { Core, Extra } from "../extra";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, named, namedError, textOfCodes, typeError } = core;

  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const digits: Record<number, number | undefined> = $.createObject(null);
  for (let i = 0; i < 64; i++) digits[$.charCodeAt(alphabet, i)] = i;

  /** Decodes base64 to a string of bytes, forgiving of blanks and missing padding. */
  const atob = (...args: unknown[]): string => {
    if (args.length === 0) throw typeError("atob expects a string");
    const text = "" + args[0];
    const list = $.newList();
    const length = digitsOf(text, list);
    let count = 0;
    let bits = 0;
    let held = 0;
    for (let i = 0; i < length; i++) {
      bits = ((bits & 0x3f) << 6) | list[i];
      held += 6;
      if (held >= 8) {
        held -= 8;
        list[count++] = (bits >> held) & 0xff;
      }
    }
    return textOfCodes(list, count);
  };

  /** Puts the values of a text's digits into a list and returns their number. */
  function digitsOf(text: string, into: number[]): number {
    let length = 0;
    let pads = 0;
    for (let i = 0; i < text.length; i++) {
      const code = $.charCodeAt(text, i);
      if (code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0c || code === 0x0d) continue;
      const digit = digits[code];
      if (code === 0x3d) pads++;
      else if (digit === undefined || pads > 0) throw invalid("atob: the text is not base64: wrong character at " + i);
      else into[length++] = digit;
    }
    if (length % 4 === 1 || (pads > 0 && (pads > 2 || (length + pads) % 4 !== 0))) {
      throw invalid("atob: the text is not base64: its length is wrong");
    }
    return length;
  }

  /** Encodes a string whose characters are bytes. */
  const btoa = (...args: unknown[]): string => {
    if (args.length === 0) throw typeError("btoa expects a string");
    const text = "" + args[0];
    let out = "";
    for (let i = 0; i < text.length; i += 3) {
      const rest = text.length - i;
      const a = byteAt(text, i);
      const b = rest > 1 ? byteAt(text, i + 1) : 0;
      const c = rest > 2 ? byteAt(text, i + 2) : 0;
      out +=
        alphabet[a >> 2]! +
        alphabet[((a & 3) << 4) | (b >> 4)] +
        (rest > 1 ? alphabet[((b & 15) << 2) | (c >> 6)] : "=") +
        (rest > 2 ? alphabet[c & 63] : "=");
    }
    return out;
  };

  function byteAt(text: string, at: number): number {
    const code = $.charCodeAt(text, at);
    if (code > 0xff) throw invalid("btoa: the character at " + at + " is no byte; encode the text with TextEncoder first");
    return code;
  }

  function invalid(message: string): Error {
    return namedError("InvalidCharacterError", message);
  }

  return { __proto__: null, atob: named("atob", atob), btoa: named("btoa", btoa) } as Record<string, unknown>;
};

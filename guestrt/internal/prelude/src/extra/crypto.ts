// crypto: random values. They come from the worker and are no part of a
// snapshot, so that a run that goes on twice draws different ones.

import type { Core, Extra } from "../extra";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, named, namedError, native, typeError, typeName } = core;

  const maxBytes = 65536;
  const hex = "0123456789abcdef";

  const integerArrays: Record<string, boolean | undefined> = {
    __proto__: null,
    Int8Array: true,
    Uint8Array: true,
    Uint8ClampedArray: true,
    Int16Array: true,
    Uint16Array: true,
    Int32Array: true,
    Uint32Array: true,
    BigInt64Array: true,
    BigUint64Array: true,
  } as any;

  /** Builds the crypto object. */
  function newCrypto(): object {
    const crypto = $.createObject($.objectPrototype);
    const add = (name: string, body: Function) => {
      $.define(crypto, name, named(name, body), true, false);
    };
    add("getRandomValues", (array: any) => {
      const name = typeof array === "object" && array !== null ? $.typedArrayName(array) : undefined;
      if (name === undefined || !integerArrays[name]) {
        throw typeError("crypto.getRandomValues expects an integer typed array, got " + (name || typeName(array)));
      }
      const size = $.typedArrayByteLength(array);
      if (size > maxBytes) {
        throw namedError("QuotaExceededError", "crypto.getRandomValues fills at most " + maxBytes + " bytes, got " + size);
      }
      if (size > 0) native.random($.typedArrayBuffer(array), $.typedArrayByteOffset(array), size);
      return array;
    });
    add("randomUUID", () => {
      const bytes = new $.Uint8ArrayConstructor(16);
      native.random($.typedArrayBuffer(bytes), 0, 16);
      bytes[6] = (bytes[6]! & 0x0f) | 0x40;
      bytes[8] = (bytes[8]! & 0x3f) | 0x80;
      let text = "";
      for (let i = 0; i < 16; i++) {
        if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
        text += hex[bytes[i]! >> 4]! + hex[bytes[i]! & 15]!;
      }
      return text;
    });
    $.define(crypto, $.toStringTagSymbol, "Crypto", false, false);
    return $.freeze(crypto);
  }

  return { __proto__: null, crypto: newCrypto() } as Record<string, unknown>;
};

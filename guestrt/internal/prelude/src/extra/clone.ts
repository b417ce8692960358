// structuredClone: a deep copy of plain data and of the built-in classes that
// hold data.

import type { Core, Extra } from "../extra";
import { Kind } from "../kind";

declare const prelude: { create: Extra };

prelude.create = (core: Core) => {
  const { $, named, namedError, readSlot, typeError, typeName } = core;

  /** The copies made so far, by original. */
  type Seen = Map<object, object>;

  /**
   * Copies a value. Functions, symbols and objects that stand for something else
   * than data refuse. Buffers named by transfer are copied and then detached.
   */
  const structuredClone = (...args: any[]): unknown => {
    if (args.length === 0) throw typeError("structuredClone expects a value");
    const moved = transferred(args[1]);
    const copy = cloneValue(args[0], new $.MapConstructor());
    for (let i = 0; i < moved.length; i++) $.arrayBufferTransfer(moved[i], 0);
    return copy;
  };

  /** The buffers to move, each of them once and not yet detached. */
  function transferred(options: any): any[] {
    const none = $.newList();
    if (options === undefined || options === null) return none;
    if (typeof options !== "object") {
      throw typeError("structuredClone expects its options as an object such as {transfer: [buffer]}, got " + typeName(options));
    }
    const transfer = options.transfer;
    if (transfer === undefined) return none;
    const list = typeof transfer === "object" && transfer !== null ? $.listOf(transfer) : undefined;
    if (list === undefined) throw typeError("structuredClone expects transfer as a list of buffers, got " + typeName(transfer));
    const known = new $.SetConstructor();
    for (let i = 0; i < list.length; i++) {
      if (!isWholeBuffer(list[i])) throw refused("only an ArrayBuffer that is not detached can be transferred");
      $.setAdd(known, list[i]);
      if ($.setSize(known) <= i) throw refused("a buffer is transferred twice");
    }
    return list;
  }

  function isWholeBuffer(value: any): boolean {
    try {
      return $.arrayBufferByteLength(value) >= 0 && !$.arrayBufferDetached(value);
    } catch {
      return false;
    }
  }

  function refused(why: string): Error {
    return namedError("DataCloneError", "structuredClone: " + why);
  }

  function cloneValue(value: any, seen: Seen): any {
    switch (typeof value) {
      case "symbol":
        throw refused("a symbol cannot be cloned");
      case "function":
        throw refused("a function cannot be cloned");
      case "object":
        if (value !== null) break;
      default:
        return value;
    }
    const known = $.mapGet(seen, value);
    return known !== undefined ? known : cloneObject(value, seen);
  }

  function keep<T extends object>(seen: Seen, value: object, copy: T): T {
    $.mapSet(seen, value, copy);
    return copy;
  }

  function cloneObject(value: any, seen: Seen): object {
    if ($.isArray(value)) {
      const copy: unknown[] = keep(seen, value, []);
      copy.length = value.length;
      return copyProperties(value, copy, seen);
    }
    const kind = $.kindOf(value);
    if (kind === Kind.Resource || kind === Kind.Promise) throw refused("a " + resourceName(value) + " cannot be cloned");
    if (kind === Kind.Error) return cloneError(value, seen);
    const name = kind === Kind.TypedArray ? $.typedArrayName(value) : undefined;
    if (name !== undefined) return cloneView(value, $.typedArrays[name]!, $.typedArrayLength(value), seen);
    if (kind === Kind.Plain || kind === Kind.TypedArray) return copyProperties(value, keep(seen, value, {}), seen);
    let slot: any;
    try {
      slot = kind === Kind.ArrayBuffer ? undefined : readSlot(value, kind);
      if (kind === Kind.ArrayBuffer) $.arrayBufferByteLength(value);
    } catch {
      return copyProperties(value, keep(seen, value, {}), seen);
    }
    return cloneSlotted(value, kind, slot, seen);
  }

  /** Copies an instance of a built-in class, whose internal slot was read. */
  function cloneSlotted(value: any, kind: Kind, slot: any, seen: Seen): object {
    switch (kind) {
      case Kind.Date:
        return keep(seen, value, new $.DateConstructor(slot));
      case Kind.RegExp:
        return keep(seen, value, new $.RegExpConstructor(slot, $.regExpFlags(value)));
      case Kind.Map:
        return cloneMap(value, seen);
      case Kind.Set:
        return cloneSet(value, seen);
      case Kind.ArrayBuffer:
        if (!isWholeBuffer(value)) throw refused("a detached ArrayBuffer cannot be cloned");
        return keep(seen, value, $.arrayBufferSlice(value, 0));
      case Kind.DataView:
        return cloneView(value, $.DataViewConstructor, $.dataViewByteLength(value), seen);
    }
    if (typeof slot === "symbol") throw refused("a symbol cannot be cloned");
    return keep(seen, value, $.toObject(slot));
  }

  function cloneView(value: any, type: any, length: number, seen: Seen): object {
    const view = type === $.DataViewConstructor;
    const buffer = cloneValue(view ? $.dataViewBuffer(value) : $.typedArrayBuffer(value), seen);
    const offset = view ? $.dataViewByteOffset(value) : $.typedArrayByteOffset(value);
    return keep(seen, value, new type(buffer, offset, length));
  }

  function cloneMap(value: any, seen: Seen): object {
    const copy = keep(seen, value, new $.MapConstructor());
    const items = $.newList();
    let count = 0;
    $.mapForEach(value, (item: unknown, key: unknown) => {
      items[count++] = key;
      items[count++] = item;
    });
    for (let i = 0; i < count; i += 2) $.mapSet(copy, cloneValue(items[i], seen), cloneValue(items[i + 1], seen));
    return copy;
  }

  function cloneSet(value: any, seen: Seen): object {
    const copy = keep(seen, value, new $.SetConstructor());
    const items = $.newList();
    let count = 0;
    $.setForEach(value, (item: unknown) => {
      items[count++] = item;
    });
    for (let i = 0; i < count; i++) $.setAdd(copy, cloneValue(items[i], seen));
    return copy;
  }

  /** Copies an error of a standard kind: its message, stack and cause. */
  function cloneError(value: any, seen: Seen): object {
    const name = value.name;
    const type = (typeof name === "string" && $.errorTypes[name]) || $.ErrorConstructor;
    const message = $.getOwnDescriptor(value, "message");
    const copy: any = keep(seen, value, new type());
    if (message !== undefined && "value" in message) $.define(copy, "message", "" + message.value, false, true);
    const stack = $.ownValue(value, "stack");
    $.define(copy, "stack", typeof stack === "string" ? stack : "", false, true);
    if ($.hasOwn(value, "cause")) $.define(copy, "cause", cloneValue(value.cause, seen), false, true);
    return copy;
  }

  function copyProperties(value: any, copy: object, seen: Seen): object {
    const keys = $.keysOf(value);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      if ($.hasOwn(value, key)) $.define(copy, key, cloneValue(value[key], seen), true, true);
    }
    return copy;
  }

  function resourceName(value: any): string {
    const tag = value[$.toStringTagSymbol];
    return typeof tag === "string" ? tag : "resource";
  }

  return { __proto__: null, structuredClone: named("structuredClone", structuredClone) } as Record<string, unknown>;
};

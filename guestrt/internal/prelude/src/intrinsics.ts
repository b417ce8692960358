// Every built-in that the prelude uses, captured before any guest code runs.
//
// Prelude code calls these and nothing else: no method of a guest-visible
// prototype, no iteration protocol, no property that an object does not own.
// Whatever a guest does to the built-ins later stays invisible to the bridge.

import { Kind } from "./kind";

/** Turns a method into a function that takes its receiver first. */
const uncurryThis: (method: any) => (self: any, ...args: any[]) => any = Function.prototype.bind.bind(
  Function.prototype.call,
) as any;

const getterOf = (holder: object, key: PropertyKey) =>
  uncurryThis(Object.getOwnPropertyDescriptor(holder, key)!.get);

export const apply = Reflect.apply;
export const deleteProperty = Reflect.deleteProperty;
export const ownKeys = Reflect.ownKeys;
export const defineIfAllowed = Reflect.defineProperty;
export const reflectGet = Reflect.get;
export const createObject = Object.create;
export const defineOwn = Object.defineProperty;
export const freeze = Object.freeze;
export const preventExtensions = Object.preventExtensions;
export const getOwnDescriptor = Object.getOwnPropertyDescriptor;
export const getPrototypeOf = Object.getPrototypeOf;
export const setPrototypeOf = Object.setPrototypeOf;
export const hasOwn = Object.hasOwn;
export const keysOf = Object.keys;
export const isArray = Array.isArray;
export const parseJSON = JSON.parse;
export const stringify = JSON.stringify;
export const encodeURIText = encodeURIComponent;
export const unescapeText = unescape;
export const now = Date.now;
export const floor = Math.floor;

export const ArrayConstructor = Array;
export const ErrorConstructor = Error;
export const TypeErrorConstructor = TypeError;
export const RangeErrorConstructor = RangeError;
export const MapConstructor = Map;
export const WeakSetConstructor = WeakSet;
export const PromiseConstructor = Promise;
export const ProxyConstructor = Proxy;
export const Uint8ArrayConstructor = Uint8Array;
export const ArrayBufferConstructor = ArrayBuffer;
export const DataViewConstructor = DataView;
export const DateConstructor = Date;
export const RegExpConstructor = RegExp;
export const SetConstructor = Set;
export const SymbolConstructor = Symbol;
export const WeakMapConstructor = WeakMap;

/** Methods that take options for Intl. */
export const localeMethods = [Date, Date, Date, Number, BigInt, Array, String].map((type: any, i) => {
  const name = ["toLocaleDateString", "toLocaleTimeString"][i] || (type === String ? "localeCompare" : "toLocaleString");
  return { on: type.prototype, name, plain: uncurryThis(type.prototype[name]) };
});

export const objectPrototype = Object.prototype;
export const arrayPrototype = Array.prototype;
export const iteratorPrototype = Iterator.prototype;
export const iteratorSymbol: typeof Symbol.iterator = Symbol.iterator;
export const asyncIteratorSymbol: typeof Symbol.asyncIterator = Symbol.asyncIterator;
export const toStringTagSymbol: typeof Symbol.toStringTag = Symbol.toStringTag;
const typedArrayPrototype = getPrototypeOf(Uint8Array.prototype);

export const sortList = uncurryThis(Array.prototype.sort);
export const joinParts = uncurryThis(Array.prototype.join);
export const promiseThen = uncurryThis(Promise.prototype.then);
export const mapGet = uncurryThis(Map.prototype.get);
export const mapSet = uncurryThis(Map.prototype.set);
export const mapDelete = uncurryThis(Map.prototype.delete);
export const mapForEach = uncurryThis(Map.prototype.forEach);
export const mapSize = getterOf(Map.prototype, "size");
export const setForEach = uncurryThis(Set.prototype.forEach);
export const setSize = getterOf(Set.prototype, "size");
export const weakSetHas = uncurryThis(WeakSet.prototype.has);
export const weakSetAdd = uncurryThis(WeakSet.prototype.add);
export const charCodeAt = uncurryThis(String.prototype.charCodeAt);
export const fromCharCode = String.fromCharCode;
export const wellFormed = uncurryThis(String.prototype.toWellFormed);
export const lowerCase = uncurryThis(String.prototype.toLowerCase);
export const isInteger = Number.isInteger;
export const toNumber = Number;
export const toObject = Object;
export const setDelete = uncurryThis(Set.prototype.delete);
export const setAdd = uncurryThis(Set.prototype.add);
export const indexOfText = uncurryThis(String.prototype.indexOf);
export const sliceText = uncurryThis(String.prototype.slice);
export const trimText = uncurryThis(String.prototype.trim);
export const matchText = uncurryThis(RegExp.prototype.exec);
export const regExpSource = getterOf(RegExp.prototype, "source");
export const regExpToString = uncurryThis(RegExp.prototype.toString);
export const dateGetTime = uncurryThis(Date.prototype.getTime);
export const dateToISOString = uncurryThis(Date.prototype.toISOString);
export const symbolToString = uncurryThis(Symbol.prototype.toString);
export const numberValueOf = uncurryThis(Number.prototype.valueOf);
export const stringValueOf = uncurryThis(String.prototype.valueOf);
export const booleanValueOf = uncurryThis(Boolean.prototype.valueOf);
export const bigIntValueOf = uncurryThis(BigInt.prototype.valueOf);
export const symbolValueOf = uncurryThis(Symbol.prototype.valueOf);
export const typedArrayName = getterOf(typedArrayPrototype, Symbol.toStringTag);
export const typedArrayLength = getterOf(typedArrayPrototype, "length");
export const arrayBufferByteLength = getterOf(ArrayBuffer.prototype, "byteLength");
export const arrayBufferSlice = uncurryThis(ArrayBuffer.prototype.slice);
export const arrayBufferDetached = getterOf(ArrayBuffer.prototype, "detached");
export const arrayBufferTransfer = uncurryThis(ArrayBuffer.prototype.transfer);
export const typedArrayBuffer = getterOf(typedArrayPrototype, "buffer");
export const typedArrayByteOffset = getterOf(typedArrayPrototype, "byteOffset");
export const typedArrayByteLength = getterOf(typedArrayPrototype, "byteLength");
export const bytesSubarray = uncurryThis(Uint8Array.prototype.subarray);
export const bytesSet = uncurryThis(Uint8Array.prototype.set);
export const regExpFlags = getterOf(RegExp.prototype, "flags");
export const dataViewBuffer = getterOf(DataView.prototype, "buffer");
export const dataViewByteOffset = getterOf(DataView.prototype, "byteOffset");
export const dataViewByteLength = getterOf(DataView.prototype, "byteLength");

const kinds = new Map<object, Kind>();
kinds.set(Error.prototype, Kind.Error);
kinds.set(Date.prototype, Kind.Date);
kinds.set(Map.prototype, Kind.Map);
kinds.set(Set.prototype, Kind.Set);
kinds.set(RegExp.prototype, Kind.RegExp);
kinds.set(typedArrayPrototype, Kind.TypedArray);
kinds.set(ArrayBuffer.prototype, Kind.ArrayBuffer);
kinds.set(DataView.prototype, Kind.DataView);
kinds.set(Number.prototype, Kind.Boxed);
kinds.set(String.prototype, Kind.Boxed);
kinds.set(Boolean.prototype, Kind.Boxed);
kinds.set(BigInt.prototype, Kind.Boxed);
kinds.set(Symbol.prototype, Kind.Boxed);
kinds.set(Promise.prototype, Kind.Promise);
kinds.set(WeakMap.prototype, Kind.Resource);
kinds.set(WeakSet.prototype, Kind.Resource);
kinds.set(WeakRef.prototype, Kind.Resource);
kinds.set(FinalizationRegistry.prototype, Kind.Resource);
kinds.set(Iterator.prototype, Kind.Resource);

/** Marks a class of the prelude's own as one that cannot be copied. */
export function markResource(type: Function): void {
  mapSet(kinds, type.prototype, Kind.Resource);
}

/** A prototype chain longer than this (a Proxy can make one up) counts as plain. */
const maxChain = 1000;

/**
 * Names the class of an object by its prototype chain. The chain only nominates:
 * whoever acts on the answer still asks the object's internal slots.
 */
export function kindOf(value: object): Kind {
  let proto = getPrototypeOf(value);
  for (let hops = 0; proto !== null && hops < maxChain; hops++) {
    if (proto === objectPrototype) return Kind.Plain;
    const kind = mapGet(kinds, proto);
    if (kind !== undefined) return kind;
    proto = getPrototypeOf(proto);
  }
  return Kind.Plain;
}

/** Constructors of typed arrays by name. */
export const typedArrays: Record<string, any> = {
  __proto__: null,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float16Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as any;

/** Constructors of errors by name. */
export const errorTypes: Record<string, any> = {
  __proto__: null,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
} as any;

/** Defines a data property, whatever Object.prototype may hold by now. */
export function define(target: object, key: PropertyKey, value: unknown, enumerable: boolean, writable: boolean): void {
  defineOwn(target, key, {
    __proto__: null,
    value,
    enumerable,
    writable,
    configurable: writable,
  } as PropertyDescriptor);
}

/** An array on which index writes can meet no setter. */
export function newList(): any[] {
  return setPrototypeOf([], null);
}

/** Reads a property that an object itself owns, else undefined. */
export function ownValue(target: any, key: string): any {
  return typeof target === "object" && target !== null && hasOwn(target, key) ? target[key] : undefined;
}

/** The bytes of a buffer or of a view on one, shared with it; undefined for other values. */
export function bytesOf(value: any): Uint8Array | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (typedArrayName(value) !== undefined) {
    return new Uint8ArrayConstructor(typedArrayBuffer(value), typedArrayByteOffset(value), typedArrayByteLength(value));
  }
  try {
    if (arrayBufferByteLength(value) >= 0) return new Uint8ArrayConstructor(value);
  } catch {}
  try {
    return new Uint8ArrayConstructor(dataViewBuffer(value), dataViewByteOffset(value), dataViewByteLength(value));
  } catch {}
  return undefined;
}

/** The items of an array or another iterable, as a list; undefined if it is none. */
export function listOf(items: any): any[] | undefined {
  const list = newList();
  if (isArray(items)) {
    const length = items.length;
    for (let i = 0; i < length; i++) list[i] = items[i];
    return list;
  }
  const method = items[iteratorSymbol];
  if (typeof method !== "function") return undefined;
  const iterator: any = apply(method, items, []);
  const next = iterator.next;
  for (let count = 0; ; count++) {
    const step: any = apply(next, iterator, []);
    if (step.done) return list;
    list[count] = step.value;
  }
}

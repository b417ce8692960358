// Values built at first touch, constant globals, and deep freezing of parsed data.

import * as $ from "./intrinsics";

/**
 * Defines a constant property whose value is built when first read. It is and
 * stays an accessor: see defineConstant. A build that throws is tried again at the
 * next touch.
 */
export function defineLazy(target: object, key: string, enumerable: boolean, build: () => unknown): void {
  let value: unknown;
  let built = false;
  defineGetter(target, key, enumerable, () => {
    if (!built) {
      value = build();
      built = true;
    }
    return value;
  });
}

/** Defines a property that is read by a function and that nothing can change any more. */
export function defineGetter(target: object, key: string, enumerable: boolean, get: () => unknown): void {
  $.defineOwn(target, key, {
    __proto__: null,
    get,
    set: undefined,
    enumerable,
    configurable: false,
  } as PropertyDescriptor);
}

/**
 * Defines a property that nothing can change any more. It is an accessor because
 * the engine lets a guest redefine constant data of the global object.
 */
export function defineConstant(target: object, key: string, value: unknown): void {
  defineGetter(target, key, false, () => value);
}

/**
 * An object that looks frozen. Its members are made when they are first needed: find makes
 * one, if there is one of that name; complete makes all and returns the target.
 */
export function lazyMembers(target: object, find: (key: PropertyKey) => unknown, complete: () => object): object {
  const no = () => false;
  return new $.ProxyConstructor(target, {
    __proto__: null,
    get: (_: object, key: PropertyKey) => find(key),
    has: (_: object, key: PropertyKey) => find(key) !== undefined,
    getOwnPropertyDescriptor: (_: object, key: PropertyKey) => {
      find(key);
      return $.getOwnDescriptor(target, key);
    },
    ownKeys: () => $.ownKeys(complete()),
    isExtensible: () => !$.preventExtensions(complete()),
    preventExtensions: () => !!$.preventExtensions(complete()),
    set: no,
    defineProperty: (_: object, key: PropertyKey, to: PropertyDescriptor) =>
      $.hasOwn(complete(), key) && $.defineIfAllowed(target, key, to),
    deleteProperty: no,
    setPrototypeOf: no,
  } as ProxyHandler<any>);
}

/** Freezes parsed JSON all the way down; bare takes the objects' prototype away. */
export function deepFreeze(value: any, bare: boolean): any {
  if (typeof value !== "object" || value === null) return value;
  if (bare && !$.isArray(value)) $.setPrototypeOf(value, null);
  const keys = $.keysOf(value);
  for (let i = 0; i < keys.length; i++) deepFreeze(value[keys[i]!], bare);
  return $.freeze(value);
}

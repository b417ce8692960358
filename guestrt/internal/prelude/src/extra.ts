// Extras: parts of the prelude that a guest gets when it first touches one of
// their globals. Each is a script of its own, which captures nothing: by the time
// it runs, a guest may have replaced every built-in, so that it takes what it
// needs from here.

import { argumentsJSON, field, rejected, request } from "./bridge";
import { readSlot } from "./builtins";
import { toJSONText } from "./convert";
import { inputError, typeName } from "./errors";
import * as $ from "./intrinsics";
import { deepFreeze, defineLazy, lazyMembers } from "./lazy";
import { caps, maxResults } from "./limits";
import type { Native } from "./native";
import { namedError, rangeError, typeError } from "./raise";
import { callbackThrew } from "./run";
import { setSignals, takeSignal } from "./signals";
import { clip, textOfCodes, utf8Size } from "./strings";
import { afterDelay, isolate } from "./timers";

/** What an extra is made of. */
export type Core = ReturnType<typeof newCore>;

/** An extra: given the core, it returns its globals and what other extras use of it. */
export type Extra = (core: Core) => Record<string, any>;

/** The globals of each extra. */
const globals: [extra: string, names: string[]][] = [
  ["abort", ["AbortController", "AbortSignal"]],
  ["api", ["API"]],
  ["base64", ["atob", "btoa"]],
  ["clone", ["structuredClone"]],
  ["crypto", ["crypto"]],
  ["encoding", ["TextDecoder", "TextEncoder"]],
  ["mcp", ["MCP"]],
  ["programs", ["programs"]],
  ["results", ["results"]],
  ["searchparams", ["URLSearchParams"]],
  ["url", ["URL"]],
];

/** Defines the globals of all extras. */
export function installExtras(native: Native, target: object): void {
  const loaded = $.createObject(null);
  let core: Core | undefined;
  const load = (extra: string): Record<string, any> => {
    if (core === undefined) core = newCore(native, load);
    if (loaded[extra] === undefined) loaded[extra] = native.extra(extra)(core);
    return loaded[extra];
  };
  for (let i = 0; i < globals.length; i++) {
    const extra = globals[i]![0];
    const names = globals[i]![1];
    for (let j = 0; j < names.length; j++) {
      defineLazy(target, names[j]!, false, () => load(extra)[names[j]!]);
    }
  }
  const methods = {
    fromAsync(this: unknown, items: unknown, mapper?: unknown, self?: unknown): unknown {
      return load("fromasync").fromAsync(this, items, mapper, self);
    },
  };
  $.define(methods.fromAsync, "length", 1, false, false);
  $.define($.ArrayConstructor, "fromAsync", methods.fromAsync, false, true);
}

/** Made when it is needed, so that guests that need no extra do not carry it. */
function newCore(native: Native, load: (extra: string) => Record<string, any>) {
  return $.freeze({
    __proto__: null,
    $: builtins(),
    native,
    load,
    afterDelay,
    argumentsJSON,
    caps,
    clip,
    deepFreeze,
    defineLazy,
    fail: callbackThrew,
    field,
    inputError,
    isolate,
    lazyMembers,
    maxResults,
    named,
    namedError,
    rangeError,
    readSlot,
    rejected,
    request,
    setSignals,
    takeSignal,
    textOfCodes,
    toJSONText,
    typeError,
    typeName,
    utf8Size,
    webClass,
  });
}

/** The built-ins that extras use, as they were before any guest code ran. */
function builtins() {
  return $.freeze({
    __proto__: null,
    DataViewConstructor: $.DataViewConstructor,
    DateConstructor: $.DateConstructor,
    ErrorConstructor: $.ErrorConstructor,
    MapConstructor: $.MapConstructor,
    PromiseConstructor: $.PromiseConstructor,
    RegExpConstructor: $.RegExpConstructor,
    SetConstructor: $.SetConstructor,
    Uint8ArrayConstructor: $.Uint8ArrayConstructor,
    apply: $.apply,
    arrayBufferByteLength: $.arrayBufferByteLength,
    arrayBufferDetached: $.arrayBufferDetached,
    arrayBufferSlice: $.arrayBufferSlice,
    arrayBufferTransfer: $.arrayBufferTransfer,
    asyncIteratorSymbol: $.asyncIteratorSymbol,
    bytesOf: $.bytesOf,
    charCodeAt: $.charCodeAt,
    createObject: $.createObject,
    dataViewBuffer: $.dataViewBuffer,
    dataViewByteLength: $.dataViewByteLength,
    dataViewByteOffset: $.dataViewByteOffset,
    define: $.define,
    errorTypes: $.errorTypes,
    freeze: $.freeze,
    floor: $.floor,
    fromCharCode: $.fromCharCode,
    getOwnDescriptor: $.getOwnDescriptor,
    hasOwn: $.hasOwn,
    indexOfText: $.indexOfText,
    isArray: $.isArray,
    iteratorPrototype: $.iteratorPrototype,
    iteratorSymbol: $.iteratorSymbol,
    keysOf: $.keysOf,
    kindOf: $.kindOf,
    listOf: $.listOf,
    lowerCase: $.lowerCase,
    mapDelete: $.mapDelete,
    mapForEach: $.mapForEach,
    mapGet: $.mapGet,
    mapSet: $.mapSet,
    mapSize: $.mapSize,
    matchText: $.matchText,
    newList: $.newList,
    objectPrototype: $.objectPrototype,
    ownValue: $.ownValue,
    promiseThen: $.promiseThen,
    parseJSON: $.parseJSON,
    regExpFlags: $.regExpFlags,
    setAdd: $.setAdd,
    setDelete: $.setDelete,
    setForEach: $.setForEach,
    setSize: $.setSize,
    sliceText: $.sliceText,
    sortList: $.sortList,
    toObject: $.toObject,
    toStringTagSymbol: $.toStringTagSymbol,
    trimText: $.trimText,
    typedArrayBuffer: $.typedArrayBuffer,
    typedArrayByteLength: $.typedArrayByteLength,
    typedArrayByteOffset: $.typedArrayByteOffset,
    typedArrayLength: $.typedArrayLength,
    typedArrayName: $.typedArrayName,
    typedArrays: $.typedArrays,
    wellFormed: $.wellFormed,
  });
}

/** A function of the guest's: named, frozen. */
function named<T extends Function>(name: string, body: T): T {
  $.define(body, "name", name, false, false);
  return $.freeze(body);
}

/** A class of the guest's, which structuredClone refuses and whose objects tell their class. */
function webClass<T extends Function>(type: T): T {
  const name = $.ownValue($.getOwnDescriptor(type, "name"), "value");
  $.markResource(type);
  $.define(type.prototype, $.toStringTagSymbol, name, false, false);
  return type;
}

// The entry of the prelude: installs the guest's globals and returns to the
// engine what it drives the guest by.

import { field, request, settle } from "./bridge";
import { buildEntries, buildTools } from "./catalog";
import { newPerformance, startClock } from "./clock";
import { inspect, newConsole } from "./console";
import { installExtras } from "./extra";
import * as $ from "./intrinsics";
import { defineConstant, defineLazy } from "./lazy";
import { setLimits } from "./limits";
import { refuseLocaleOptions } from "./locale";
import { installNamespaces } from "./namespaces";
import type { Config, Entry, Native } from "./native";
import { json, text } from "./output";
import { setNative } from "./raise";
import { callbackThrew, drain, isOver, runCell } from "./run";
import { clip } from "./strings";
import { fireOne, installTimers } from "./timers";

declare const prelude: { create: (native: Native) => Entry };

const maxReason = 1024;

function create(native: Native): Entry {
  setNative(native);
  const target = globalThis;
  const add = (name: string, value: unknown) => defineConstant(target, name, value);
  const addFunction = (name: string, body: Function) => {
    $.define(body, "name", name, false, false);
    add(name, $.freeze(body));
  };
  $.deleteProperty(target, "SharedArrayBuffer");
  $.deleteProperty(target, "Atomics");
  refuseLocaleOptions();
  addFunction("text", text);
  addFunction("json", json);
  add("console", newConsole());
  add("performance", newPerformance());
  addSymbol("dispose");
  addSymbol("asyncDispose");
  add("tools", buildTools(native));
  defineLazy(target, "ALL_TOOLS", false, () => buildEntries(native));
  addFunction("yield_control", (reason?: unknown) =>
    request('"yield",' + field(reason === undefined ? "" : clip(inspect(reason), maxReason))),
  );
  installTimers(addFunction, callbackThrew);
  installExtras(native, target);
  return {
    __proto__: null,
    start: (configJSON: string, cell: () => Promise<unknown>) => {
      const config: Config = $.parseJSON(configJSON);
      if (config.limits) setLimits(config.limits);
      startClock();
      installNamespaces(native, target, config.namespaces || []);
      runCell(cell);
    },
    settle,
    fire: () => !isOver() && fireOne(callbackThrew),
    drain: () => drain(native),
  } as unknown as Entry;
}

/** Adds a well-known symbol that the engine lacks. */
function addSymbol(name: string): void {
  if ($.hasOwn($.SymbolConstructor, name)) return;
  $.define($.SymbolConstructor, name, $.SymbolConstructor("Symbol." + name), false, false);
}

prelude.create = create;

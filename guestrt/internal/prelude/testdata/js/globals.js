// What a guest finds on its global object, and what it cannot reach.

//// core globals are constant
"use strict"
const names = ["ALL_TOOLS", "API", "AbortController", "AbortSignal", "MCP", "TextDecoder", "TextEncoder", "URL", "URLSearchParams", "atob", "btoa", "clearInterval", "clearTimeout", "console", "crypto", "json", "namespaces", "performance", "queueMicrotask", "results", "setInterval", "setTimeout", "structuredClone", "text", "tools", "yield_control"]
const refused = names.filter((n) => { try { globalThis[n] = 1 } catch { return true } }).length
const kept = names.filter((n) => { try { delete globalThis[n] } catch { return true } }).length
const fixed = names.filter((n) => { try { Object.defineProperty(globalThis, n, {get() {}}) } catch { return true } }).length
return [refused, kept, fixed]
//=> [26,26,26]

//// core globals are not enumerable
return Object.keys(globalThis)
//=> []

//// core functions are frozen, named, and no constructors
const fs = [text, json, yield_control, setTimeout, setInterval, clearTimeout, clearInterval, queueMicrotask, structuredClone, atob, btoa]
return [fs.every(Object.isFrozen), fs.map((f) => f.name), fs.some((f) => "prototype" in f)]
//=> [true,["text","json","yield_control","setTimeout","setInterval","clearTimeout","clearInterval","queueMicrotask","structuredClone","atob","btoa"],false]

//// assignments are ignored in sloppy code
tools = 1; text = 2; console = 3; ALL_TOOLS = 4; namespaces = 5
return [typeof tools, typeof text, typeof console, typeof ALL_TOOLS, typeof namespaces]
//=> ["object","function","object","object","object"]

//// what a sealed guest does not have
return ["SharedArrayBuffer", "Atomics", "require", "module", "exports", "process", "std", "os", "bjson", "print", "scriptArgs", "Worker", "fetch", "WebAssembly", "native", "entry", "prelude", "start", "settle", "drain", "fire", "rejections"].filter((n) => n in globalThis)
//=> []

//// functions tell nothing about their callers
const seen = []
function spy() { seen.push(spy.caller === undefined, arguments.callee === spy) }
const tries = [() => text.caller, () => text.arguments, () => (function () { return arguments.callee.caller })(), () => (function f() { return f.caller })(), () => (function f() { return f.arguments })()]
return tries.map((f) => { try { const v = f(); return v === undefined || v === null } catch (e) { return e.constructor === TypeError } })
//=> [true,true,true,true,true]

//// a stack is text, and a hook for it sees no frames
const got = []
Error.prepareStackTrace = (...args) => { got.push(args.length); return "hooked" }
Error.captureStackTrace?.({})
let stack
const o = {toJSON() { stack = new Error("x").stack; return 1 }}
json(o)
try { await tools.call("fail") } catch (e) { stack += e.stack }
try { await tools.call(5) } catch (e) { stack += e.stack }
return [got, typeof stack]
//=> [[],"string"]

//// callbacks that the bridge calls learn nothing
const leaks = []
const check = (where, self, args, own) => { if (self !== own || args > 1) leaks.push(where) }
const o = {toJSON(...args) { check("toJSON", this, args.length, o); return 1 }}
json(o); await tools.call("echo", o)
const p = new Proxy({}, {ownKeys(...args) { check("ownKeys", null, args.length, null); return [] }})
json(p)
await new Promise((r) => setTimeout(function (...args) { check("timer", this === globalThis, args.length, true); r() }, 0))
await new Promise((r) => queueMicrotask(function (...args) { check("microtask", this === globalThis, args.length, true); r() }))
return leaks
//=> []

//// no object reachable from the globals leads to the bridge
const found = [], seen = new Set()
const look = (v, path) => {
  if ((typeof v !== "object" && typeof v !== "function") || v === null || seen.has(v) || path.length > 12) return
  seen.add(v)
  const keys = Reflect.ownKeys(v)
  if (["start", "settle", "drain", "fire"].filter((k) => keys.includes(k)).length > 1 || keys.includes("rejections") || (keys.includes("file") && typeof v !== "function")) found.push(path.join("."))
  for (const k of keys) {
    const d = Object.getOwnPropertyDescriptor(v, k)
    if (!d) continue
    for (const part of [d.value, d.get, d.set]) look(part, [...path, String(k)])
  }
  look(Object.getPrototypeOf(v), [...path, "[[Prototype]]"])
}
look(globalThis, ["globalThis"]); look(tools, ["tools"]); look(tools.echo(), ["promise"]); look(Issues, ["Issues"]); look(ALL_TOOLS, ["ALL_TOOLS"]); look(API, ["API"]); look(results, ["results"]); look(new URL("http://a").searchParams, ["params"]); look(AbortSignal.any([]), ["signal"]); look(crypto, ["crypto"])
return [found, seen.size > 500]
//=> [[],true]

//// namespace globals are constant, touched or not
const r = []
for (const touch of [false, true]) {
  if (touch) Issues.list
  for (const n of ["Issues", "Ping"]) {
    try { Object.defineProperty(globalThis, n, {value: 1}); r.push("redefined") } catch (e) { r.push(e.name) }
    r.push(delete globalThis[n])
  }
}
return [r, typeof Issues.list]
//=> [["TypeError",false,"TypeError",false,"TypeError",false,"TypeError",false],"function"]

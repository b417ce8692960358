// Patched built-ins, before and during bridge calls. They break the guest's own
// results at most.

//// JSON replaced
globalThis.JSON = { stringify: () => '"forged"', parse: () => "forged" }
return await tools.echo({ a: 1 })
//=> completed {"a":1}

//// JSON.stringify spins
JSON.stringify = () => { for (;;); }
return await tools.echo({ a: 1 })
//=> completed {"a":1}

//// Promise replaced
globalThis.Promise = class { constructor() { for (;;); } }
return await tools.echo({ a: 1 })
//=> completed {"a":1}

//// then of promises replaced
Promise.prototype.then = () => { for (;;); }
return 1
//=> completed 1

//// Object.prototype.then set
Object.prototype.then = function (r) { r("hijacked") }
return {}
//=> completed "hijacked" | internal_error | timeout

//// Object.prototype.then set during a call
const p = tools.echo({ a: 1 })
Object.prototype.then = function (r) { delete Object.prototype.then; r("hijacked") }
return await p
//=> completed "hijacked"

//// Array.prototype emptied
for (const k of Reflect.ownKeys(Array.prototype)) if (k !== "length") delete Array.prototype[k]
return await tools.echo({ a: [1, 2] })
//=> completed {"a":[1,2]}

//// every prototype but that of promises emptied
const classes = [Object, Array, String, Number, Map, Set, WeakMap, WeakSet, RegExp, Error, Function], ownKeys = Reflect.ownKeys
for (let i = 0; i < classes.length; i++) {
  const p = classes[i].prototype, keys = ownKeys(p)
  for (let j = 0; j < keys.length; j++) { try { delete p[keys[j]] } catch {} }
}
return await tools.echo({ a: [1] })
//=> completed {"a":[1]}

//// every global deleted
for (const k of Reflect.ownKeys(globalThis)) { try { delete globalThis[k] } catch {} }
return await tools.echo({ a: 1 })
//=> completed {"a":1}

//// every function of every global replaced by one that spins
const spin = () => { for (;;); }, ownKeys = Reflect.ownKeys
for (const k of ["JSON", "Reflect", "Math", "Object", "Array", "String", "Number", "Map", "Set"]) {
  const o = globalThis[k]
  for (const m of ownKeys(o)) { try { if (typeof o[m] === "function") o[m] = spin } catch {} }
}
return await tools.echo({ a: [1, "x"] })
//=> completed {"a":[1,"x"]}

//// index setters on Array.prototype
let hits = 0
for (let i = 0; i < 100; i++) Object.defineProperty(Array.prototype, i, { set() { hits++ }, get() { hits++ }, configurable: true })
const r = await tools.echo({ a: 1 })
return [r.a, hits].length
//=> completed 2

//// Symbol.iterator of arrays replaced
Array.prototype[Symbol.iterator] = function* () { for (;;) yield 1 }
return await tools.echo({ a: [1] })
//=> completed {"a":[1]}

//// Function.prototype.call and apply replaced
Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw new Error("patched") }
text("t")
return await Vault.get("x")
//=> completed {"value":"x"}

//// Reflect.apply replaced
Reflect.apply = Reflect.construct = () => { for (;;); }
return await Vault.get("x")
//=> completed {"value":"x"}

//// Map and WeakMap replaced
Map.prototype.get = Map.prototype.set = WeakMap.prototype.get = WeakMap.prototype.has = () => { throw new Error("patched") }
return [await tools.echo({ a: 1 }), await tools.echo({ b: 2 })]
//=> completed [{"a":1},{"b":2}]

//// Error replaced
globalThis.Error = class { constructor() { for (;;); } }
try { await tools.call("missing", {}) } catch (e) { return typeof e.message }
//=> completed "string"

//// Error.prepareStackTrace
Error.prepareStackTrace = () => { for (;;); }
Error.stackTraceLimit = 1e9
throw new Error("m")
//=> internal_error

//// String.prototype patched
for (const k of ["replace", "slice", "charCodeAt", "toString", "valueOf", "split", "indexOf"]) String.prototype[k] = () => { throw new Error("patched") }
text("a\nb\u2028")
return await tools.echo({ a: "q\"\\" })
//=> completed {"a":"q\"\\"}

//// Number.prototype patched
Number.prototype.toString = Number.prototype.valueOf = () => "1e999"
return [1, { a: 2.5 }]
//=> completed [1,{"a":2.5}]

//// the constructor of async functions
const AF = (async () => {}).constructor
AF.prototype.constructor = null
Object.setPrototypeOf(AF.prototype, null)
return await tools.echo({ a: 1 })
//=> completed {"a":1}

//// species of promises
Object.defineProperty(Promise, Symbol.species, { get() { for (;;); } })
return await tools.echo({ a: 1 })
//=> completed {"a":1}

//// the constructor of promises is a trap
Object.defineProperty(Promise.prototype, "constructor", { get() { throw new Error("trap") } })
return 1
//=> completed 1 | internal_error

//// Object.prototype full of accessors
for (const k of ["get", "set", "value", "writable", "code", "message", "id", "ok", "kind", "s", "v", "e", "o", "r", "p", "t"])
  Object.defineProperty(Object.prototype, k, { __proto__: null, get() { throw new Error("accessor " + k) }, set() {}, configurable: true })
return typeof (await tools.search("echo")).length
//=> completed "number"

//// Symbol.toPrimitive on everything
Object.prototype[Symbol.toPrimitive] = () => { throw new Error("primitive") }
return await tools.echo({ a: [1, { b: 2 }] })
//=> completed {"a":[1,{"b":2}]}

//// Symbol.species of arrays
Object.defineProperty(Array, Symbol.species, { value: function () { return new Proxy([], { defineProperty() { throw new Error("species") } }) } })
return (await tools.search("")).length > 0
//=> completed true

//// console replaced by itself
console.log = (...a) => console.log(...a)
console.log("x")
//=> internal_error | completed null

//// frozen built-ins
for (const k of ["Object", "Array", "Promise", "JSON", "Map", "Error", "Function"]) { Object.freeze(globalThis[k]); Object.freeze(globalThis[k].prototype ?? {}) }
return await tools.echo({ a: 1 })
//=> completed {"a":1}

//// globalThis frozen
try { Object.freeze(globalThis) } catch {}
return await Vault.get("x")
//=> completed {"value":"x"}

//// undefined, NaN and Infinity redefined
for (const k of ["undefined", "NaN", "Infinity"]) { try { Object.defineProperty(globalThis, k, { value: 1 }) } catch {} }
return await tools.echo({ a: [1, void 0, 1 / 0] })
//=> completed {"a":[1,null,null]}

//// namespace globals redefined
try { Object.defineProperty(globalThis, "Vault", { value: { get: () => "forged" } }) } catch {}
return await namespaces.vault?.get("x") ?? await namespaces.Vault.get("x")
//=> completed {"value":"x"}

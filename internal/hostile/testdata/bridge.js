// Programs that look for the bridge behind the globals, or forge what crosses it.

//// nothing of the engine's own library
return ["std", "os", "bjson", "Worker", "print", "scriptArgs", "gc", "navigator", "require", "process", "module", "exports", "global", "Deno", "Bun"].filter((k) => k in globalThis)
//=> completed []

//// nothing that shares memory
return [typeof SharedArrayBuffer, typeof Atomics, typeof WebAssembly]
//=> completed ["undefined","undefined","undefined"]

//// no hidden names
return Reflect.ownKeys(globalThis).filter((k) => /quoin|native|bridge|prelude|__/i.test(String(k)))
//=> completed []

//// the prelude's functions show no source
return [tools.search, tools.call, text, json, setTimeout, yield_control, Vault.get].some((f) => /native\.|request\(|prelude/.test(Function.prototype.toString.call(f)))
//=> completed false

//// the caller of a getter
function look() { try { return look.caller } catch (e) { return e.name } }
const o = { get x() { return look() } }
try { await tools.echo(o) } catch {}
return [typeof look.caller, typeof look.arguments]
//=> completed ["undefined","undefined"] | completed ["object","object"] | internal_error

//// arguments.callee of a callback
let found
setTimeout(function () { try { found = typeof arguments.callee.caller } catch (e) { found = e.name } }, 0)
await new Promise((r) => setTimeout(r, 5))
return found
//=> completed "TypeError" | completed "undefined" | completed "object"

//// this of a callback
let self
await new Promise((r) => setTimeout(function () { self = this; r() }, 0))
return self === undefined || self === globalThis
//=> completed true

//// the stack names no file but the cell
let stack
try { await tools.echo({ get x() { throw new Error("look") } }) } catch (e) { stack = e.stack }
return /\.go|\/work|\/home|\/tmp|guestserver/.test(String(stack))
//=> completed false

//// errors of the bridge carry no host object
let e
try { await tools.call("no such tool") } catch (x) { e = x }
return [e instanceof Error, Object.getPrototypeOf(e) === Error.prototype, e.constructor.constructor === Function]
//=> completed [true,true,true]

//// the Function constructor reaches the guest's world alone
return await tools.call.constructor("return Object.keys(this).filter(k => /native|host/.test(k)).length")()
//=> completed 0

//// eval sees no local of the prelude
return ["native", "pending", "lastID", "requests", "request", "settle", "drain", "entry", "prelude"].filter((k) => { try { return (0, eval)("typeof " + k) !== "undefined" } catch { return false } })
//=> completed []

//// ids cannot be chosen
const a = tools.call("echo", { a: 1 }, { id: 999 }), b = tools.call({ id: 1, toString: () => "echo" }, { b: 2 })
return await Promise.allSettled([a, b]).then((r) => r.map((x) => x.status))
//=> completed ["fulfilled","rejected"] | completed ["fulfilled","fulfilled"]

//// a call cannot be settled from inside
const p = tools.echo({ real: true })
for (const k of ["resolve", "reject", "settle", "_resolve", "id"]) { try { p[k]?.("forged") } catch {} }
return await p
//=> completed {"real":true}

//// a tool's name as a path of a file
for (const n of ["../../etc/passwd", "/etc/passwd", "catalog.json", "namespaces/vault.json", "\u0000", "quoin:core:echo\u0000x"]) {
  try { await tools.call(n, {}); return "reached " + n } catch {}
}
return "refused"
//=> completed "refused"

//// a search that is no string
const r = []
for (const q of [null, {}, 1n, Symbol.iterator, { toString() { throw 1 } }, "x".repeat(1e6)]) { try { await tools.search(q); r.push(1) } catch { r.push(0) } }
return r.length
//=> completed 6

//// a limit that is no number
for (const limit of [-1, NaN, Infinity, 1e308, "9", {}, null, -0, 2 ** 64]) { try { if ((await tools.search("", { limit })).length > 50) return "too many" } catch {} }
return "bounded"
//=> completed "bounded"

//// paths that no scope recorded
const got = []
for (const f of [() => Vault.nothing(), () => Vault.get.call.call(), () => Vault["__proto__"].get("x"), () => Vault.constructor("x")]) { try { await f(); got.push(1) } catch { got.push(0) } }
return got
//=> completed [0,0,0,0]

//// namespaces are frozen
"use strict"
const tried = []
for (const f of [() => { Vault.get = 1 }, () => { Vault.x = 1 }, () => { delete Vault.get }, () => { Vault.get.x = 1 }, () => { globalThis.Vault = 1 }, () => Object.setPrototypeOf(Vault, {}), () => Object.defineProperty(Vault, "get", { value: 1 })]) { try { f() } catch { tried.push(1) } }
return [typeof Vault.get, Vault.x, Object.getPrototypeOf(Vault)]
//=> completed ["function",null,null]

//// core globals cannot be replaced
for (const k of ["tools", "text", "json", "yield_control", "ALL_TOOLS", "namespaces", "console", "setTimeout"]) { try { globalThis[k] = "forged" } catch {} ; try { delete globalThis[k] } catch {} ; try { Object.defineProperty(globalThis, k, { value: "forged" }) } catch {} }
return [typeof tools, typeof text, typeof json, typeof yield_control, typeof ALL_TOOLS, typeof namespaces, typeof console, typeof setTimeout]
//=> completed ["object","function","function","function","object","object","object","function"]

//// the catalog is frozen
let n = 0
for (const f of [() => ALL_TOOLS.push(1), () => { ALL_TOOLS[0].id = "x" }, () => { ALL_TOOLS.length = 0 }, () => Object.defineProperty(ALL_TOOLS[0], "name", { value: "x" })]) { try { (function () { "use strict"; f() })() } catch { n++ } }
return ALL_TOOLS[0].id !== "x" && ALL_TOOLS.length > 0 && n
//=> completed 2

//// a namespace by another name
return [typeof namespaces.vault, typeof namespaces.Vault, typeof namespaces.rude, typeof globalThis.Issues]
//=> completed ["undefined","object","undefined","undefined"] | completed ["object","undefined","undefined","undefined"] | completed ["object","object","undefined","undefined"]

//// modules by import
try { await (0, eval)("import('std')"); return "loaded" } catch (e) { return "refused" }
//=> completed "refused"

//// modules by a function made of text
for (const m of ["os", "std", "fs", "node:fs", "file:///etc/passwd", "data:text/javascript,1", "./x.js", "/etc/passwd", "quoin:prelude"]) { try { await new Function("m", "return import(m)")(m); return "loaded " + m } catch {} }
return "refused"
//=> completed "refused"

//// import in plain sight
return await import("std")
//=> invalid_input

//// require in plain sight
return require("fs").readFileSync("/etc/passwd")
//=> invalid_input

//// yields without end
for (let i = 0; i < 5000; i++) yield_control("x".repeat(1000))
return 1
//=> waiting | invalid_input | internal_error | timeout

//// a reason of a megabyte
await yield_control("r".repeat(1e6))
//=> waiting

//// a reason that spins
await yield_control({ toString() { for (;;); }, get x() { for (;;); } })
//=> timeout | waiting

//// a frame inside a string
return await tools.echo({ a: "\u0000\u0000\u0000\u0005\u0081{\"s\":1,\"v\":\"forged\"}" })
//=> completed {"a":"\u0000\u0000\u0000\u0005\u0081{\"s\":1,\"v\":\"forged\"}"}

//// a report inside a string
text('"],"r":[[1,"call","echo",{}]],"s":1,"v":"forged"')
return '"},"s":1'
//=> completed "\"},\"s\":1"

//// separators in names
const o = {}
for (const k of ["\u001f", "\u0000", "\u2028", "__proto__", "a\u001fb", ""]) Object.defineProperty(o, k, { value: k.length, enumerable: true })
return Object.keys((await tools.echo(o))).length
//=> completed 6

//// half of a surrogate pair in a name
return await tools.echo({ "\ud800": 1 }).then(() => "through", () => "refused")
//=> completed "refused"

//// an argument list without end
return await Vault.get(...new Array(5e4).fill(0)).then(() => "through", () => "refused")
//=> completed "through" | completed "refused"

//// files of the guest cannot be named
return [typeof file, typeof native, typeof rejections]
//=> completed ["undefined","undefined","undefined"]

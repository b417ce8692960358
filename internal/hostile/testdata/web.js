// Attacks on the globals that guests know from browsers, on results and on API.

//// URLs that grow
let u = "http://a/"
for (;;) { u += "%41/../"; try { new URL(u) } catch { return "refused" } }
//=> completed "refused" | timeout

//// URLs of very many segments
const u = "http://a/" + "../x/".repeat(12000)
for (let i = 0; i < 1e6; i++) new URL(u)
//=> timeout

//// a URL as long as the heap
try { new URL("http://a/" + "x".repeat(8 << 20)) } catch (e) { return e.name }
//=> completed "TypeError" | memory_limit_exceeded

//// hosts that unfold
const r = []
for (const h of ["xn--" + "a".repeat(60000), "ﷺ".repeat(3000), "0x" + "f".repeat(60000), "1.".repeat(30000), "[" + ":".repeat(60000) + "]", "%".repeat(60000)]) {
  try { r.push(new URL("http://" + h).href.length > 0) } catch { r.push("refused") }
}
return r.length
//=> completed 6 | timeout

//// a URL whose parts are set without end
const u = new URL("http://a/")
for (;;) u.pathname += "/ü"
//=> timeout | completed

//// URL texts that are objects
let n = 0
const evil = { toString() { if (n++ < 5) new URL(evil); return "http://a/" } }
return new URL(evil).href
//=> completed "http://a/"

//// text that never ends
new URL({ toString() { for (;;); } })
//=> timeout

//// parameters without end
const p = new URLSearchParams()
for (;;) p.append("k", "v".repeat(1000))
//=> memory_limit_exceeded

//// parameters of a URL without end
const u = new URL("http://a/")
for (;;) u.searchParams.append("é", "é")
//=> timeout | memory_limit_exceeded

//// an iterable without end
new URLSearchParams({ *[Symbol.iterator]() { for (;;) yield ["a", "b"] } })
//=> memory_limit_exceeded | timeout

//// parameters that change while they are walked
const p = new URLSearchParams("a=1")
p.forEach(() => p.append("b", "2"))
//=> memory_limit_exceeded | timeout

//// a sort whose parameters are many
const p = new URLSearchParams("x&".repeat(200000))
for (;;) p.sort()
//=> timeout | memory_limit_exceeded

//// a clone of a cycle
const o = {}
o.o = o; o.list = [o, o]; o.map = new Map([[o, o]])
const c = structuredClone(o)
return c.map.get(c) === c && c.list[1] === c
//=> completed true

//// a clone of great depth
let o = {}
for (let i = 0; i < 200000; i++) o = { o }
try { structuredClone(o); return 1 } catch { return 1 }
//=> completed 1 | memory_limit_exceeded

//// a clone whose getter makes more of it
const o = {}
const grow = (t) => Object.defineProperty(t, "next", { enumerable: true, get() { return grow({}) } })
try { structuredClone(grow(o)); return 1 } catch { return 1 }
//=> completed 1 | timeout | memory_limit_exceeded

//// a clone whose getter never returns
structuredClone({ get a() { for (;;); } })
//=> timeout

//// a clone of a proxy with very many keys
structuredClone(new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, (_, i) => "k" + i), getOwnPropertyDescriptor: () => ({ value: {}, enumerable: true, configurable: true }), get: () => ({}) }))
//=> memory_limit_exceeded | timeout | completed

//// clones without end
let o = { a: new Uint8Array(1 << 20) }
for (const all = []; ; ) all.push(structuredClone(o))
//=> memory_limit_exceeded

//// a buffer that is detached while it is cloned
const b = new ArrayBuffer(8)
try { structuredClone({ get a() { b.transfer(); return 1 }, b, v: new Uint8Array(b) }); return 1 } catch (e) { return e.name }
//=> completed

//// a transfer list that lies
let n = 0
const b = new ArrayBuffer(8)
try { structuredClone(b, { transfer: { *[Symbol.iterator]() { yield b; b.transfer() } } }); return 1 } catch (e) { return e.name }
//=> completed

//// a flood of decoding
const d = new TextDecoder(), bytes = new Uint8Array(1 << 20).fill(0xff)
for (;;) d.decode(bytes, { stream: true })
//=> timeout | memory_limit_exceeded

//// decoding a buffer that goes away
const b = new ArrayBuffer(1024)
const d = new TextDecoder()
try { d.decode(new Uint8Array(b), { get stream() { b.transfer(); return true } }); return 1 } catch (e) { return 1 }
//=> completed 1

//// encoding as much as there is
const s = "é".repeat(8 << 20)
for (const all = []; ; ) all.push(new TextEncoder().encode(s))
//=> memory_limit_exceeded | timeout

//// encoding into a buffer that shrinks
const b = new ArrayBuffer(8, { maxByteLength: 8 })
const u = new Uint8Array(b)
const r = new TextEncoder().encodeInto({ toString() { b.resize(0); return "xxxxxxxx" } }, u)
return r.written <= 8 && u.length === 0
//=> completed true

//// base64 of much
let s = "x".repeat(1 << 20)
for (;;) s = btoa(s)
//=> memory_limit_exceeded | timeout

//// random values into a buffer that goes away
const b = new ArrayBuffer(64), u = new Uint8Array(b)
b.transfer()
return crypto.getRandomValues(u).length
//=> completed 0 | internal_error

//// random values into a buffer that has shrunk
const b = new ArrayBuffer(64, { maxByteLength: 64 }), u = new Uint8Array(b, 0, 64)
b.resize(8)
try { crypto.getRandomValues(u) } catch {}
return b.byteLength
//=> completed 8

//// random values without end
for (const u = new Uint8Array(65536); ; ) crypto.getRandomValues(u)
//=> timeout

//// timers of signals without end
for (;;) AbortSignal.timeout(1e9)
//=> memory_limit_exceeded | timeout

//// signals that depend on signals
let s = new AbortController().signal
for (;;) s = AbortSignal.any([s, s])
//=> memory_limit_exceeded | timeout

//// a chain of signals that aborts at once
const c = new AbortController()
let s = c.signal
for (let i = 0; i < 20000; i++) s = AbortSignal.any([s])
try { c.abort() } catch {}
return c.signal.aborted
//=> completed true | memory_limit_exceeded | internal_error

//// a listener that adds listeners
const c = new AbortController()
const again = () => c.signal.addEventListener("abort", () => again())
again()
c.abort()
//=> timeout | memory_limit_exceeded

//// calls that are given up as fast as they are made
for (;;) {
  const c = new AbortController()
  tools.slow({}, { signal: c.signal }).catch(() => {})
  c.abort()
  await null
}
//=> internal_error | timeout | invalid_input | waiting

//// every call of a burst given up
const c = new AbortController(), all = []
for (let i = 0; i < 5000; i++) all.push(tools.slow({}, { signal: c.signal }).catch(() => 1))
c.abort()
await Promise.all(all)
//=> invalid_input | waiting | completed null

//// a signal that is forged
const forged = Object.create(AbortSignal.prototype)
try { await tools.call("echo", {}, { signal: forged }) } catch (e) { return e.name }
//=> completed "TypeError"

//// results without end
for (let i = 0; ; i++) results.save("r" + (i % 64), "x".repeat(i * 1000))
//=> internal_error | memory_limit_exceeded | output_limit_exceeded

//// results that are caught
let n = 0
for (let i = 0; i < 1000; i++) try { results.save("r" + i, i) } catch { n++ }
return n
//=> completed 936

//// names of results that are odd
for (const n of ["__proto__", "constructor", "toString", "\0", "\ud800"]) results.save(n, n)
return ["__proto__", "constructor", "toString", "\0"].every((n) => results.load(n) === n) && ({}).x === undefined
//=> completed true

//// API paths that lead elsewhere
const r = []
for (const p of ["../catalog.json", "..", ".", "a/../../b", "%2e%2e/x", "..%2fx", "\0", "guest.d.ts\0", "guest.d.ts/", "C:\\x", "//etc/passwd", "/../x", "guest.d.ts.json", "index.json", "x".repeat(100000), "\ud800"]) {
  try { r.push((await API.read(p)).path) } catch (e) { if (e.message.length > 500) r.push("long") }
}
return r
//=> completed []

//// API paths that are objects
try { await API.read({ toString() { return "guest.d.ts" } }); return "read" } catch (e) { return "refused" }
//=> completed "refused"

//// API read without end
for (const all = []; ; ) all.push(await API.read("guest.d.ts"))
//=> memory_limit_exceeded | timeout

//// globals that are taken away before they are built
for (const k of Reflect.ownKeys(Object.prototype)) if (k !== "constructor") delete Object.prototype[k]
for (const k of ["get", "set", "value", "0"]) Object.defineProperty(Object.prototype, k, { __proto__: null, get() { return 5 }, set() {}, configurable: true })
Array.prototype[Symbol.iterator] = Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 5
JSON.parse = Map.prototype.get = String.prototype.slice = RegExp.prototype.exec = () => 5
return [new URL("http://a/b?c=d").searchParams.get("c"), new TextDecoder().decode(new TextEncoder().encode("é")), atob(btoa("x")), structuredClone([1])[0], results.load(results.save(7)), (await API.read("guest.d.ts")).path]
//=> completed ["d","é","x",1,7,"guest.d.ts"]

// What corrupted engines of this kind before: reentrancy, resizing and freeing in the
// middle of a native operation. The right answer matters less than staying alive.

//// a sort whose comparator empties the array
const a = Array.from({ length: 1000 }, (_, i) => 1000 - i)
a.sort((x, y) => { a.length = 0; return x - y })
return a.length >= 0
//=> completed true

//// a typed array sorted while its buffer is resized
const b = new ArrayBuffer(4096, { maxByteLength: 8192 })
const u = new Uint32Array(b)
u.sort(() => { b.resize(16); return -1 })
return u.length
//=> completed 4

//// a typed array sorted while its buffer is detached
const b = new ArrayBuffer(4096)
const u = new Uint32Array(b)
u.sort(() => { try { b.transfer() } catch {} return -1 })
return u.length
//=> completed 0

//// with on a shrinking array
const b = new ArrayBuffer(64, { maxByteLength: 64 })
const u = new Uint8Array(b)
try { return u.with(60, { valueOf() { b.resize(1); return 1 } }).length } catch (e) { return e.name }
//=> completed "RangeError" | completed 64

//// fill whose value shrinks the buffer
const b = new ArrayBuffer(64, { maxByteLength: 64 })
const u = new Uint8Array(b)
try { u.fill({ valueOf() { b.resize(8); return 7 } }) } catch {}
return u.length
//=> completed 8

//// set from an array that shrinks
const b = new ArrayBuffer(64, { maxByteLength: 64 })
const u = new Uint8Array(b)
try { u.set({ length: 60, get 0() { b.resize(0); return 1 } }) } catch {}
return u.length
//=> completed 0

//// slice whose species detaches
const b = new ArrayBuffer(64)
const u = new Uint8Array(b)
u.constructor = { [Symbol.species]: function (n) { b.transfer(); return new Uint8Array(n) } }
try { return u.slice().length } catch (e) { return e.name }
//=> completed 64 | completed "TypeError"

//// lastIndexOf whose start detaches
const b = new ArrayBuffer(64)
const u = new Uint8Array(b)
return u.lastIndexOf(0, { valueOf() { b.transfer(); return 63 } })
//=> completed -1

//// an array buffer slice that shrinks
const b = new ArrayBuffer(64, { maxByteLength: 64 })
try { return b.slice({ valueOf() { b.resize(0); return 0 } }, 64).byteLength } catch (e) { return e.name }
//=> completed 0 | completed "TypeError" | completed 64 | completed "RangeError"

//// copyWithin on a shrinking buffer
const b = new ArrayBuffer(64, { maxByteLength: 64 })
const u = new Uint8Array(b)
u.copyWithin(0, { valueOf() { b.resize(4); return 8 } }, 64)
return u.length
//=> completed 4

//// a DataView past the end
const b = new ArrayBuffer(16, { maxByteLength: 16 })
const v = new DataView(b, 8)
try { v.setFloat64({ valueOf() { b.resize(8); return 0 } }, 1) } catch (e) { return e.name }
//=> completed "RangeError" | completed "TypeError"

//// splice that shrinks under itself
const a = [1, 2, 3, 4, 5, 6, 7, 8]
a.constructor = { [Symbol.species]: function () { a.length = 0; return [] } }
return a.splice(1, 5).length >= 0
//=> completed true

//// concat with a getter that shrinks
const a = [1, 2, 3]
const b = [4, 5, 6]
Object.defineProperty(b, 0, { get() { b.length = 1; a.length = 0; return 9 } })
return a.concat(b).length
//=> completed 6 | completed 4

//// a length that grows in push
const a = []
Object.defineProperty(a, 0, { set() { a.length = 1000 }, configurable: true })
try { a.push(1, 2, 3) } catch {}
return a.length >= 0
//=> completed true

//// map entries deleted while they are walked
const m = new Map(Array.from({ length: 1000 }, (_, i) => [i, {}]))
for (const [k] of m) { m.clear(); m.set(k + 1e6, 1); if (m.size > 1 || k > 1e7) break }
return m.size
//=> completed 1 | timeout

//// a set changed by the other set's has
const s = new Set([1, 2, 3, 4])
return [...s.intersection({ size: 10, has(x) { s.delete(x); s.add(x + 10); return x < 10 }, keys() { return [].values() } })].length >= 0
//=> completed true | timeout | memory_limit_exceeded

//// weak references across collections
const refs = []
for (let i = 0; i < 1e4; i++) refs.push(new WeakRef({ i }))
await null
return refs.every((r) => r.deref() === undefined || typeof r.deref().i === "number")
//=> completed true

//// a weak map key that is its own value
const m = new WeakMap()
for (let i = 0; i < 1e4; i++) { const k = {}; k.k = k; m.set(k, k) }
return 1
//=> completed 1

//// a generator returned into while it runs
let g
function* f() { try { yield g.return(1) } finally { yield 2 } }
g = f()
try { g.next() } catch (e) { return e.name }
//=> completed null

//// an async generator with twenty thousand requests
async function* f() { yield 1 }
const g = f()
const all = []
for (let i = 0; i < 2e4; i++) all.push(g.next())
return [(await all[0]).value, (await all[1]).done]
//=> completed [1,true] | memory_limit_exceeded

//// an error's stack read while it is built
const e = new Error("x")
Object.defineProperty(Error.prototype, "name", { get() { new Error("y").stack; return "N" } })
return typeof e.stack
//=> completed "string"

//// class fields that replace the class
class A { x = (A.prototype.y = this) ; static z = new A() }
return new A().y instanceof A
//=> completed true

//// regular expressions that recompile themselves while they run
const r = /a(b)?/g
let n = 0
const s = "ab".repeat(100)
s.replace(r, () => { if (n++ < 10) r.compile("(((((b)))))", "g"); return "" })
return n > 0
//=> completed true

//// the arguments object and its parameters
function f(a, b) { arguments.length = 1e6; arguments[0] = arguments; delete arguments[1]; return [a === arguments, b] }
return f(1, 2)
//=> completed [true,2]

//// a rope freed while it is flattened
let s = ""
for (let i = 0; i < 1e5; i++) s += i
const m = { [s]: 1 }
s = null
return Object.keys(m)[0].length
//=> completed 488890

//// dates at the end of time
const r = []
for (const t of [8.64e15, -8.64e15, 8.64e15 + 1, NaN, -0, 1e300]) { const d = new Date(t); r.push(isNaN(d) ? null : d.toISOString().length, String(d).length > 0, d.toLocaleString().length > 0) }
return r.length
//=> completed 18

//// parsing dates of a megabyte
const s = "1".repeat(1e6)
return isNaN(Date.parse(s)) && isNaN(Date.parse("2020-01-01T" + s))
//=> completed true

//// numbers to the last digit
return [(5e-324).toFixed(100).length, (1.5).toPrecision(100).length, (2 ** 1000).toString(36).length > 0, (1e21).toFixed(2)]
//=> completed [102,101,true,"1e+21"]

//// structured clones of cycles
const o = { m: new Map(), d: new Date(0), u: new Uint8Array(4) }
o.m.set(o, [o, o.u])
if (typeof structuredClone !== "function") return "absent"
const c = structuredClone(o)
return c.m.get(c)[0] === c
//=> completed true | completed "absent"

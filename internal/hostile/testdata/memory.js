// Running out of memory, and not taking it for an answer.

//// arrays without end
const a = []
for (;;) a.push(new Array(1000).fill(a.length))
//=> memory_limit_exceeded

//// swallowed in a loop
const a = []
for (;;) { try { a.push(new Uint8Array(1 << 20)) } catch {} }
//=> memory_limit_exceeded

//// swallowed, then spinning
try { const a = []; for (;;) a.push("x".repeat(1e6) + a.length) } catch {}
for (;;);
//=> memory_limit_exceeded | timeout

//// swallowed, then an answer
const a = []
try { for (;;) a.push(new Float64Array(1e5)) } catch {}
a.length = 0
return "still here"
//=> memory_limit_exceeded | completed "still here"

//// swallowed in a finally
for (;;) { try { let s = "x"; for (;;) s += s } finally { continue } }
//=> memory_limit_exceeded | timeout

//// swallowed by a promise
for (;;) await Promise.resolve().then(() => { const a = []; for (;;) a.push({}) }).catch(() => {})
//=> memory_limit_exceeded | timeout

//// swallowed by a getter of the value
const a = []
return { get x() { try { for (;;) a.push(new Uint8Array(1e5)) } catch { return 1 } } }
//=> memory_limit_exceeded | completed {"x":1}

//// one array too large
return new Array(2 ** 32 - 1).fill(0).length
//=> memory_limit_exceeded | timeout

//// one buffer too large
return new ArrayBuffer(2 ** 40).byteLength
//=> memory_limit_exceeded | internal_error

//// a buffer that grows to its maximum
const b = new ArrayBuffer(0, { maxByteLength: 2 ** 33 })
b.resize(2 ** 33)
return b.byteLength
//=> memory_limit_exceeded | internal_error

//// a length at the end of the integers
return new Uint8Array(2 ** 53 - 1)
//=> memory_limit_exceeded | internal_error

//// a length beyond the integers
return new Float64Array(2 ** 53)
//=> internal_error

//// closures, kept
let f = () => {}
for (;;) { const g = f; f = () => g }
//=> memory_limit_exceeded

//// properties without end
const o = {}
for (let i = 0; ; i++) o["p" + i] = i
//=> memory_limit_exceeded

//// shapes without end
const kept = []
for (let i = 0; ; i++) { const o = {}; o["a" + i] = 1; o["b" + i] = 2; kept.push(o) }
//=> memory_limit_exceeded

//// symbols without end
const kept = []
for (let i = 0; ; i++) kept.push(Symbol("s" + i), Symbol.for("g" + i))
//=> memory_limit_exceeded

//// weak maps do not leak
const m = new WeakMap()
for (let i = 0; i < 1e5; i++) m.set({}, new Array(10))
return 1
//=> completed 1

//// cycles are collected
for (let i = 0; i < 2e5; i++) { const a = {}, b = { a }; a.b = b }
return 1
//=> completed 1 | timeout

//// errors with stacks, kept
const kept = []
for (;;) kept.push(new Error("e" + kept.length))
//=> memory_limit_exceeded

//// error causes without end
let e
for (;;) e = new Error("x", { cause: e })
//=> memory_limit_exceeded

//// a long list freed at once
let l = null
for (let i = 0; i < 2e5; i++) l = { l }
l = null
return "freed"
//=> completed "freed" | memory_limit_exceeded

//// a deep tree of promises freed at once
let p = new Promise(() => {})
for (let i = 0; i < 5e4; i++) p = p.then(() => i)
p = null
return "freed"
//=> completed "freed" | memory_limit_exceeded

//// structures that fill memory just before a call
const a = []
try { for (;;) a.push(new Uint8Array(1e4)) } catch {}
return await tools.echo({ a: 1 })
//=> memory_limit_exceeded | completed {"a":1}

//// memory gone in the middle of a conversion
const a = []
return { toJSON() { for (;;) a.push([1, 2, 3]) } }
//=> memory_limit_exceeded

//// within the smallest limit
//memory 1 MiB
return [1, 2, 3].map((x) => x * 2)
//=> completed [2,4,6]

//// beyond the smallest limit
//memory 1 MiB
return new Array(3e5).fill("x").join("").length
//=> memory_limit_exceeded

//// fragments of every size
//memory 4 MiB
const kept = []
for (let i = 0; ; i++) kept[i % 977] = "f".repeat((i * 7919) % 65536) + i
//=> timeout | memory_limit_exceeded

//// string to buffer and back
//memory 4 MiB
let s = "x"
for (;;) { s = s + s; s = String.fromCharCode(...new Uint8Array(Math.min(s.length, 3e4))) + s }
//=> memory_limit_exceeded | internal_error | timeout

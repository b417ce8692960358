// Guests that are expensive to suspend.

//// a yield with a huge heap that does not compress
const a = new Uint32Array(6e6)
let x = 1
for (let i = 0; i < a.length; i++) { x ^= x << 13; x ^= x >>> 17; x ^= x << 5; a[i] = x }
await yield_control()
return a[0]
//=> snapshot_limit_exceeded

//// a yield with a huge heap of zeros
const a = new Uint8Array(2e7)
await yield_control()
return a.length
//=> waiting | snapshot_limit_exceeded

//// a yield with a hundred thousand objects
const a = Array.from({ length: 1e5 }, (_, i) => ({ i, s: "s" + i }))
await yield_control()
return a.length
//=> waiting | snapshot_limit_exceeded

//// a yield with a full heap
const a = []
try { for (;;) a.push(new Uint8Array(65536)) } catch {}
await yield_control()
return 1
//=> memory_limit_exceeded | waiting | snapshot_limit_exceeded

//// a yield from inside everything
function* g() { try { yield* [1, 2] } finally { } }
const it = g()
it.next()
for (const x of it) { await Promise.all([yield_control(), null]) }
return 1
//=> waiting

//// yields in a loop
for (;;) await yield_control()
//=> waiting

//// a yield that nobody awaits, and a spin
yield_control()
for (;;);
//=> timeout

//// a yield with four thousand timers
for (let i = 0; i < 4000; i++) setTimeout(() => {}, 1e6 + i)
await yield_control()
return 1
//=> waiting

//// a yield with random pages everywhere
const pages = []
for (let i = 0; i < 4200; i++) pages.push(Array.from({ length: 400 }, () => Math.random()))
await yield_control()
return pages.length
//=> snapshot_limit_exceeded | waiting | memory_limit_exceeded | timeout

//// a yield with a hundred calls pending
for (let i = 0; i < 100; i++) tools.slow({ i })
await yield_control()
return 1
//=> waiting

//// a yield in the middle of a deep recursion of async functions
const f = async (n) => n === 0 ? yield_control() : f(n - 1)
await f(500)
return 1
//=> waiting

//// a yield with patched built-ins
Array.prototype.push = Map.prototype.set = JSON.stringify = () => { for (;;); }
await yield_control()
return 1
//=> waiting

//// a sleep with a huge heap
const a = new Float64Array(3e6)
for (let i = 0; i < a.length; i++) a[i] = Math.random()
await tools.slow({})
//=> snapshot_limit_exceeded | waiting | timeout

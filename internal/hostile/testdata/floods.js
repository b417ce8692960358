// Floods of microtasks, promises and timers.

//// microtasks without end
const f = () => queueMicrotask(f)
f()
await new Promise(() => {})
//=> timeout

//// microtasks that double
const f = () => { queueMicrotask(f); queueMicrotask(f) }
f()
await new Promise(() => {})
//=> timeout | memory_limit_exceeded

//// an await without end
for (;;) await null
//=> timeout

//// awaits after the cell has returned
;(async () => { for (;;) await null })()
return 1
//=> timeout | completed 1

//// promises that resolve to promises
let p = Promise.resolve(1)
for (;;) p = Promise.resolve(p).then((x) => x)
//=> memory_limit_exceeded

//// a chain of thens, kept
let p = Promise.resolve()
for (;;) p = p.then(() => {})
//=> memory_limit_exceeded

//// Promise.all of very many
await Promise.all(Array.from({ length: 1e6 }, () => Promise.resolve()))
//=> memory_limit_exceeded | completed null

//// Promise.race that leaks
const never = new Promise(() => {})
for (;;) await Promise.race([never, 1])
//=> timeout | memory_limit_exceeded

//// a thenable that never stops
const t = { then(r) { r(t) } }
await t
//=> timeout

//// a promise of itself
let done
const p = new Promise((r) => { done = r })
done(p)
await p
//=> internal_error

//// rejections by the thousand
for (let i = 0; i < 1e4; i++) Promise.reject(new Error("r" + i))
return 1
//=> internal_error

//// rejections without end
for (;;) { Promise.reject(1); await null }
//=> timeout | memory_limit_exceeded

//// rejections, handled late
const all = []
for (let i = 0; i < 1e4; i++) all.push(Promise.reject(i))
await null
for (const p of all) p.catch(() => {})
return all.length
//=> completed 10000

//// timers by the hundred thousand
for (let i = 0; i < 3e5; i++) setTimeout(() => {}, 0)
await new Promise((r) => setTimeout(r, 1))
//=> timeout | memory_limit_exceeded | internal_error | completed null

//// a timer that sets two
const f = () => { setTimeout(f, 0); setTimeout(f, 0) }
f()
await new Promise(() => {})
//=> timeout | memory_limit_exceeded | internal_error | waiting

//// an interval of nothing
setInterval(() => {}, 0)
await new Promise(() => {})
//=> timeout | waiting

//// a timer callback that spins
setTimeout(() => { for (;;); }, 0)
await new Promise(() => {})
//=> timeout

//// a timer callback in native code
setTimeout(() => [].indexOf.call({ length: 2 ** 53 - 1 }, 1), 0)
await new Promise(() => {})
//=> timeout

//// a timer of a month
await new Promise((r) => setTimeout(r, 2 ** 40))
//=> waiting | timeout | completed null

//// timers in the past and out of range
const seen = []
for (const t of [-1, NaN, -Infinity, "x", undefined, null, {}]) setTimeout(() => seen.push(1), t)
await new Promise((r) => setTimeout(r, 20))
return seen.length
//=> completed 7

//// a timer whose delay throws
setTimeout(() => {}, { valueOf() { throw new RangeError("delay") } })
return 1
//=> internal_error | completed 1

//// clearing timers that are not
for (const x of [undefined, null, {}, -1, 1e300, "a", Symbol.iterator]) { try { clearTimeout(x); clearInterval(x) } catch {} }
return 1
//=> completed 1

//// a promise pending for nothing
await new Promise(() => {})
//=> internal_error

//// FinalizationRegistry callbacks
let n = 0
const r = new FinalizationRegistry(() => { n++; r.register({}, 0) })
for (let i = 0; i < 1e5; i++) r.register({}, i)
return n >= 0
//=> completed true | timeout | internal_error | memory_limit_exceeded

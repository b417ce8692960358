// Timers and microtasks.

//// timers fire by due time, then creation
const order = []
const at = (n, ms) => new Promise((r) => setTimeout(() => { order.push(n); r() }, ms))
await Promise.all([at("c", 3), at("a", 1), at("b", 1), at("z", 0), at("d", 3)])
return order
//=> ["z","a","b","c","d"]

//// arguments, this, and numeric ids
const seen = await new Promise((r) => setTimeout(function (a, b) { "use strict"; r([this === undefined, [a, b]]) }, 0, 1, "b"))
const ids = [setTimeout(() => {}), setInterval(() => {}), setTimeout(() => {}, 1)]
return [seen, ids.every((i) => typeof i === "number"), new Set(ids).size]
//=> [[true,[1,"b"]],true,3]

//// cleared timers do not fire
const fired = []
const a = setTimeout(() => fired.push("a"), 0), b = setTimeout(() => fired.push("b"), 0), c = setInterval(() => fired.push("c"), 1)
clearTimeout(a); clearInterval(c); clearTimeout(undefined); clearTimeout(999); clearInterval("x"); clearTimeout(a)
await new Promise((r) => setTimeout(r, 3))
return fired
//=> ["b"]

//// an interval repeats until it is cleared, also from inside
let n = 0
await new Promise((r) => { const id = setInterval((step) => { n += step; if (n >= 6) { clearInterval(id); r() } }, 0, 2) })
return n
//=> 6

//// a timer cleared by another that is due too
const fired = []
let b
setTimeout(() => { fired.push("a"); clearTimeout(b) }, 0)
b = setTimeout(() => fired.push("b"), 0)
await new Promise((r) => setTimeout(r, 1))
return fired
//=> ["a"]

//// microtasks run between timers
const order = []
setTimeout(() => { order.push(1); Promise.resolve().then(() => order.push("m1")) }, 0)
setTimeout(() => { order.push(2) }, 0)
await new Promise((r) => setTimeout(r, 1))
return order
//=> [1,"m1",2]

//// delays are clamped
const order = []
for (const d of [NaN, -5, undefined, null, "0", 0.9, -Infinity]) setTimeout(() => order.push(String(d)), d)
setTimeout(() => order.push("never"), 2 ** 31 - 1)
await new Promise((r) => setTimeout(r, 2))
return order
//=> ["NaN","-5","undefined","null","0","0.9","-Infinity"]

//// a delay beyond 32 bits wraps around, as in browsers
const order = []
for (const d of [Infinity, 2 ** 31, 2 ** 32, 1e12, 2 ** 32 + 1]) setTimeout(() => order.push(d === Infinity ? "Infinity" : d), d)
await new Promise((r) => setTimeout(r, 2))
return order
//=> ["Infinity",2147483648,4294967296,1000000000000,4294967297]

//// pending timers do not keep a cell alive
setTimeout(() => text("late"), 1000); setInterval(() => text("late"), 1000)
return 1
//: silent
//=> 1

//// a chain of zero delays does not keep calls from leaving
let spins = 0, stop = false
const spin = () => { spins++; if (!stop) setTimeout(spin, 0) }
spin()
const r = await tools.call("echo", 1)
stop = true
return [r, spins]
//=> [1,2]

//// timers run while calls are pending
let ticks = 0
const id = setInterval(() => { ticks++ }, 1)
await new Promise((r) => setTimeout(r, 4))
await tools.call("echo")
clearInterval(id)
return ticks > 0
//=> true

//// table wrong callbacks
setTimeout("code", 0) //! TypeError: setTimeout expects a function, got string
setTimeout() //! TypeError: setTimeout expects a function, got undefined
setInterval({}, 1) //! TypeError: setInterval expects a function, got an object
queueMicrotask(null) //! TypeError: queueMicrotask expects a function, got null
setTimeout(() => 1, 5n) //! TypeError: …

//// queueMicrotask keeps the order
const order = []
queueMicrotask(() => order.push("a")); Promise.resolve().then(() => order.push("b")); queueMicrotask(() => order.push("c"))
await null; await null
return [order, queueMicrotask(() => {})]
//=> [["a","b","c"],null]

//// an interval ticks as often as its time passes
let n = 0
setInterval(() => n++, 10)
await new Promise((r) => setTimeout(r, 35))
return n
//=> 3

//// due times follow the clock, not the order of creation
const order = []
setTimeout(() => { order.push("a20"); setTimeout(() => order.push("b+5"), 5) }, 20)
setTimeout(() => { order.push("c10"); setTimeout(() => order.push("d+20"), 20) }, 10)
await new Promise((r) => setTimeout(r, 40))
return order
//=> ["c10","a20","b+5","d+20"]

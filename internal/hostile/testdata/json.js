// JSON, both the guest's own and the conversion of what leaves the guest.

//// stringify of an array of holes
const a = []
a.length = 2 ** 32 - 1
return JSON.stringify(a).length
//=> timeout | memory_limit_exceeded

//// stringify of a graph that unfolds
let a = [0]
for (let i = 0; i < 26; i++) a = [a, a]
return JSON.stringify(a).length
//=> timeout | memory_limit_exceeded

//// a value that unfolds
let a = [0]
for (let i = 0; i < 40; i++) a = [a, a]
return a
//=> output_limit_exceeded | memory_limit_exceeded

//// an object that unfolds
let o = {}
for (let i = 0; i < 40; i++) o = { a: o, b: o, c: o }
return o
//=> output_limit_exceeded | memory_limit_exceeded

//// an argument that unfolds
let a = [0]
for (let i = 0; i < 40; i++) a = [a, a]
try { await tools.echo({ a }) } catch (e) { return e.code }
//=> completed "invalid_input" | completed null | memory_limit_exceeded

//// output that unfolds
let a = [0]
for (let i = 0; i < 40; i++) a = [a, a]
json(a)
return 1
//=> internal_error | output_limit_exceeded | completed 1 | memory_limit_exceeded

//// a value of holes
const a = []
a.length = 2 ** 32 - 1
return a
//=> output_limit_exceeded

//// a value nested too deeply
let a = []
for (let i = 0; i < 1e5; i++) a = [a]
return a
//=> output_limit_exceeded

//// stringify of what is nested too deeply
let a = []
for (let i = 0; i < 1e5; i++) a = [a]
return JSON.stringify(a).length
//=> internal_error | completed 200002

//// parse of what is nested too deeply
return JSON.parse("[".repeat(1e6) + "]".repeat(1e6)).length
//=> internal_error | memory_limit_exceeded

//// parse in a loop
const text = JSON.stringify(Array(1e4).fill({ a: [1, "x"] }))
for (;;) JSON.parse(text)
//=> timeout

//// a reviver that grows what it walks
const text = "[" + "0,".repeat(1000) + "0]"
JSON.parse(text, function (k, v) { if (Array.isArray(this)) this.push(0); return v })
return 1
//=> completed 1 | timeout

//// a replacer without end
JSON.stringify({}, (k, v) => ({ next: v }))
//=> internal_error | timeout | memory_limit_exceeded

//// an indent that multiplies
let a = 0
for (let i = 0; i < 2000; i++) a = [a, a && 1]
return JSON.stringify(a, null, 10).length > 0
//=> completed true | memory_limit_exceeded | internal_error

//// escapes that multiply
return JSON.stringify("\u0000".repeat(6e6)).length
//=> memory_limit_exceeded

//// a value of escapes
return "\u0001".repeat(60000)
//=> output_limit_exceeded

//// lone surrogates
return "\ud800".repeat(3)
//=> completed "\ud800\ud800\ud800" | completed "\ufffd\ufffd\ufffd"

//// keys without end
const o = {}
for (let i = 0; i < 1e5; i++) o["k" + i] = i
return o
//=> output_limit_exceeded

//// one key of a megabyte
return { ["k".repeat(1e6)]: 1 }
//=> output_limit_exceeded

//// a map that holds itself
const m = new Map()
m.set("self", m).set(m, m)
return m
//=> completed [["self","[Circular]"],["[Circular]","[Circular]"]]

//// a set of sets
let s = new Set()
for (let i = 0; i < 1000; i++) s = new Set([s])
return s
//=> output_limit_exceeded

//// a typed array of ten million
return new Uint8Array(1e7)
//=> output_limit_exceeded

//// numbers that are none
return [NaN, Infinity, -Infinity, -0]
//=> completed [null,null,null,0]

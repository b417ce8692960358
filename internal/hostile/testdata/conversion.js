// Getters, thenables and toJSON on the way out of the guest.

//// a getter that spins
return { get x() { for (;;); } }
//=> timeout

//// a getter that throws
return { get x() { throw new Error("trap") } }
//=> internal_error

//// a getter that makes more of itself
const grow = () => ({ get next() { return grow() } })
return grow()
//=> output_limit_exceeded

//// a getter that gives another object each time
let n = 0
return { get x() { return { n: n++ } } }
//=> completed {"x":{"n":0}}

//// a getter in native code
return { get x() { return [].indexOf.call({ length: 2 ** 53 - 1 }, 1) } }
//=> timeout

//// a getter that changes its array
const a = [0, 1, 2]
Object.defineProperty(a, 0, { get() { a.length = 0; return "gone" }, enumerable: true })
return a
//=> completed ["gone",null,null]

//// a getter that lengthens its array
const a = [0]
Object.defineProperty(a, 0, { get() { a.push(1); return 0 }, enumerable: true })
return a
//=> completed [0]

//// a getter that calls tools without waiting
return { get x() { tools.echo({ late: true }); return 1 } }
//=> completed {"x":1}

//// a toJSON that spins
return { toJSON() { for (;;); } }
//=> timeout

//// a toJSON without end
const o = { toJSON: () => ({ a: { toJSON: o.toJSON } }) }
return o
//=> output_limit_exceeded

//// a toJSON that throws nothing
return { toJSON() { throw undefined } }
//=> internal_error

//// a toJSON of Date
Date.prototype.toISOString = () => { for (;;); }
return new Date(0)
//=> timeout

//// an invalid date
return [new Date(NaN)]
//=> completed [null]

//// a toJSON on every prototype
for (const c of [Object, Array, String, Number, Boolean, BigInt, Symbol, Function]) c.prototype.toJSON = () => "forged"
return { a: [1, "x", true, 2n] }
//=> completed {"a":[1,"x",true,"2"]}

//// a thenable as the value
return { then(r) { r("resolved") } }
//=> completed "resolved"

//// a thenable that spins
return { then() { for (;;); } }
//=> timeout

//// a thenable that answers twice
return { then(r, j) { r("first"); r("second"); j(new Error("third")) } }
//=> completed "first"

//// a then getter that throws
return { get then() { throw new Error("then") } }
//=> internal_error

//// thenables all the way down
const t = (n) => ({ then(r) { r(t(n + 1)) } })
return t(0)
//=> timeout

//// thrown: a symbol
throw Symbol("s")
//=> internal_error

//// thrown: null
throw null
//=> internal_error

//// thrown: an object whose message spins
throw { get message() { for (;;); } }
//=> timeout

//// thrown: an error whose name throws
const e = new Error("m")
Object.defineProperty(e, "name", { get() { throw e } })
throw e
//=> internal_error

//// thrown: an error of ten megabytes
throw new Error("m".repeat(1e7))
//=> internal_error

//// thrown: an error whose stack is forged
const e = new Error("m")
e.stack = "    at secret (/etc/passwd:1:1)\n".repeat(1e4)
throw e
//=> internal_error

//// thrown: an error with toString in native code
throw { toString: () => [].join.call({ length: 2 ** 32 - 1 }) }
//=> internal_error | timeout

//// thrown: an error whose cause is itself
const e = new Error("m")
e.cause = e
throw e
//=> internal_error

//// thrown: an aggregate of a million
throw new AggregateError(Array(1e6).fill(0), "m")
//=> internal_error | memory_limit_exceeded

//// console of everything at once
const o = { get x() { throw 1 }, m: new Map([[{}, Symbol("s")]]), s: new Set([1n]), f() {}, [Symbol.toStringTag]: "T" }
o.self = o
console.log(o, new Proxy(o, {}), [,,], Object.create(null))
return 1
//=> completed 1

//// console of what spins
console.log({ get x() { for (;;); } })
return 1
//=> timeout | completed 1

//// symbols as keys do not cross
return { [Symbol("s")]: 1, [Symbol.toPrimitive]: 2, a: 3 }
//=> completed {"a":3}

//// __proto__ as an own key
return JSON.parse('{"__proto__":{"x":1},"constructor":2}')
//=> completed {"__proto__":{"x":1},"constructor":2}

//// a detached buffer
const b = new ArrayBuffer(8), u = new Uint8Array(b)
structuredCloneOrTransfer(b)
function structuredCloneOrTransfer(b) { b.transfer(16) }
return u
//=> completed [] | internal_error

//// a view that shrinks while it is converted
const b = new ArrayBuffer(16, { maxByteLength: 16 })
const u = new Uint8Array(b)
return { get a() { b.resize(1); return 1 }, u }
//=> completed {"a":1,"u":[0]}

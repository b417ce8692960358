// Proxies whose traps spin, lie, throw or change what they are asked about.

//// a get trap that spins
return new Proxy({}, { get() { for (;;); } })
//=> timeout

//// an ownKeys trap that spins
return new Proxy({}, { ownKeys() { for (;;); } })
//=> timeout

//// ownKeys without end
return new Proxy({}, { ownKeys: () => ({ length: 2 ** 32 }) })
//=> completed {} | internal_error | timeout | memory_limit_exceeded

//// ownKeys that are no keys
return Object.keys(new Proxy({}, { ownKeys: () => [1, {}] }))
//=> internal_error

//// a descriptor trap that lies
return Object.getOwnPropertyDescriptor(new Proxy(Object.freeze({ a: 1 }), { getOwnPropertyDescriptor: () => undefined }), "a")
//=> internal_error

//// a proxy as the value
return new Proxy({ a: 1, b: [2] }, {})
//=> completed {"a":1,"b":[2]}

//// a proxy of an array as the value
return new Proxy([1, 2], {})
//=> completed [1,2]

//// a proxy whose length never ends
return new Proxy([], { get: (t, k) => k === "length" ? Infinity : t[k] })
//=> output_limit_exceeded | internal_error

//// a revoked proxy as the value
const { proxy, revoke } = Proxy.revocable({}, {})
revoke()
return proxy
//=> internal_error

//// a revoked proxy thrown
const { proxy, revoke } = Proxy.revocable({}, {})
revoke()
throw proxy
//=> internal_error

//// a revoked proxy as an argument
const { proxy, revoke } = Proxy.revocable([], {})
revoke()
try { await tools.echo({ proxy }) } catch (e) { return e.name }
//=> completed "TypeError"

//// a proxy that revokes itself while it is converted
const r = Proxy.revocable({ a: 1, b: 2 }, { get(t, k) { if (k === "a") r.revoke(); return t[k] } })
return r.proxy
//=> internal_error

//// a proxy as prototype of everything
try { Object.setPrototypeOf(Object.prototype, new Proxy({}, {})) } catch (e) { return e.name }
//=> completed "TypeError"

//// a proxy as prototype of globalThis
try { Object.setPrototypeOf(globalThis, new Proxy({}, { has() { for (;;); }, get() { for (;;); } })) } catch (e) { return e.name }
return typeof missing
//=> timeout | completed "TypeError"

//// a proxy as prototype of Array.prototype
Object.setPrototypeOf(Array.prototype, new Proxy({}, { get(t, k) { throw new Error("trap " + String(k)) } }))
return [1]
//=> completed [1] | internal_error

//// a proxy of the tools
const spy = []
const p = new Proxy(tools, { get(t, k, r) { spy.push(k); return Reflect.get(t, k) } })
return [await p.echo({ a: 1 }), spy]
//=> completed [{"a":1},["echo"]]

//// a has trap inside with
const f = new Function("p", "with (p) { x }")
return f(new Proxy({}, { has() { for (;;); } }))
//=> timeout

//// an apply trap that calls itself
const p = new Proxy(function () {}, { apply: () => p() })
return p()
//=> internal_error

//// a construct trap that returns nothing
return new (new Proxy(class {}, { construct: () => 1 }))()
//=> internal_error

//// a proxy of a proxy, ten thousand times, enumerated
let p = { a: 1 }
for (let i = 0; i < 1e4; i++) p = new Proxy(p, {})
return Object.keys(p)
//=> internal_error | completed ["a"]

//// a set trap that grows the array it is asked about
const a = []
const p = new Proxy(a, { set(t, k, v) { t.length = 0; t.push(v, v); return true } })
p.push(1, 2, 3)
return a.length
//=> completed 2

//// a deleteProperty trap under splice
const a = [1, 2, 3, 4]
const p = new Proxy(a, { deleteProperty(t, k) { t.length = 0; return true } })
p.splice(0, 1)
return a.length
//=> completed 3

//// a proxy that pretends to be a promise
return new Proxy({}, { get(t, k) { return k === "then" ? (r) => r("then " + typeof k) : undefined } })
//=> completed "then string"

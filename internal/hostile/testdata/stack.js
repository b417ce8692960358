// Stack overflows, and programs that take no notice of them.

//// plain recursion
const f = () => f() + 1
return f()
//=> internal_error

//// recursion, swallowed
function f() { try { return f() } catch { return f() } }
f()
//=> timeout | internal_error

//// recursion, swallowed at the bottom
let depth = 0
function f() { depth++; f() }
try { f() } catch {}
return depth > 100
//=> completed true

//// recursion by getters
const o = { get x() { return this.x } }
return o.x
//=> internal_error

//// recursion by valueOf
const o = { valueOf() { return +o } }
return +o
//=> internal_error

//// recursion by toString
const o = { toString() { return "" + o } }
return `${o}`
//=> internal_error

//// recursion by proxies
let p = {}
for (let i = 0; i < 1e5; i++) p = new Proxy(p, {})
return p.x
//=> internal_error | completed null | memory_limit_exceeded

//// recursion by prototypes
let o = {}
for (let i = 0; i < 1e5; i++) o = Object.create(o)
return o.missing === undefined
//=> completed true | memory_limit_exceeded

//// recursion by bound functions
let f = () => 1
for (let i = 0; i < 1e5; i++) f = f.bind(null)
return f()
//=> internal_error | completed 1 | memory_limit_exceeded

//// recursion by instanceof
const F = function () {}
Object.defineProperty(F, Symbol.hasInstance, { value: (x) => x instanceof F })
return {} instanceof F
//=> internal_error

//// recursion by constructors
class A { constructor() { new A() } }
new A()
//=> internal_error

//// recursion by super
class A { get x() { return super.x } }
Object.setPrototypeOf(A.prototype, new Proxy({}, { get: (t, k, r) => Reflect.get(A.prototype, k, r) }))
return new A().x
//=> internal_error

//// recursion by sort
const a = [2, 1]
function cmp() { a.slice().sort(cmp); return 0 }
a.sort(cmp)
//=> internal_error | timeout

//// recursion by JSON
const o = { toJSON() { return JSON.stringify(o) } }
return JSON.stringify(o)
//=> internal_error

//// recursion by eval
globalThis.f = () => (0, eval)("f()")
return f()
//=> internal_error

//// recursion by async functions
const f = async () => { await f() }
await f()
//=> internal_error | memory_limit_exceeded

//// recursion by template tags
const tag = () => tag`x`
return tag`y`
//=> internal_error

//// recursion by iterators
const o = { [Symbol.iterator]() { return [...o][Symbol.iterator]() } }
return [...o]
//=> internal_error

//// an overflow inside a bridge call's argument
const o = { toJSON() { return o.toJSON() } }
try { await tools.echo(o) } catch (e) { return e.name }
//=> completed "RangeError" | completed "InternalError"

//// a bridge call at the bottom of the stack
let last
const f = () => { try { last = tools.echo({ a: 1 }) } catch {} f() }
try { f() } catch {}
return typeof last
//=> completed "object" | invalid_input | internal_error | memory_limit_exceeded

//// the error of an overflow, thrown on
const f = () => { try { f() } catch (e) { throw new Error("again", { cause: e }) } }
f()
//=> internal_error | memory_limit_exceeded | timeout

//// a deep tree returned
let o = {}
for (let i = 0; i < 190; i++) o = { o }
return JSON.stringify(o).length
//=> completed 1142

// Iterators and generators that do not end, or end badly.

//// drop of everything in C
return [1].values().drop(2 ** 53 - 1).next()
//=> completed {"done":true}

//// drop from an endless iterator
const it = Iterator.from({ next: Math.abs })
return it.drop(2 ** 53 - 1).next()
//=> internal_error | timeout

//// drop from an iterator whose results are shared
const result = { done: false, value: 1 }
const it = Iterator.from({ next: () => result })
return it.drop(2 ** 53 - 1).next()
//=> timeout

//// an endless spread
function* f() { for (;;) yield 1 }
return [...f()].length
//=> memory_limit_exceeded

//// an endless Array.from
return Array.from({ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 0 }) }) }).length
//=> memory_limit_exceeded

//// an endless for-of
function* f() { for (;;) yield }
for (const x of f());
//=> timeout

//// an endless set
function* f() { for (let i = 0; ; i++) yield i }
return new Set(f()).size
//=> memory_limit_exceeded

//// an endless toArray
function* f() { for (;;) yield {} }
return f().map((x) => x).filter(Boolean).toArray().length
//=> memory_limit_exceeded

//// endless reduce
function* f() { for (;;) yield 1 }
return f().reduce((a, b) => a + b)
//=> timeout

//// flatMap of endless into endless
function* f() { for (;;) yield 1 }
return f().flatMap(f).some((x) => x === 2)
//=> timeout

//// a return method that goes on
function* f() { try { for (;;) yield 1 } finally { for (;;); } }
for (const x of f()) break
//=> timeout

//// generators inside generators
function* f(n) { yield* f(n + 1) }
return [...f(0)]
//=> internal_error | memory_limit_exceeded

//// a generator that resumes itself
const g = (function* () { yield g.next() })()
return g.next()
//=> internal_error

//// isDisjointFrom a set that claims to be huge
return new Set([1]).isDisjointFrom({ size: Infinity, has: () => false, keys: () => ({ next: () => ({ done: true }) }) })
//=> completed true

//// union with endless keys
return new Set([1]).union({ size: 1, has() {}, keys: () => ({ i: 0, next() { return { done: false, value: this.i++ } } }) }).size
//=> memory_limit_exceeded

//// a set that grows while it is walked
const s = new Set([0])
for (const x of s) s.add(x + 1)
//=> memory_limit_exceeded

//// a map that changes under forEach
const m = new Map([[0, 0]])
m.forEach((_, k) => { m.delete(k); m.set(k + 1, 0) })
//=> timeout

//// Map.groupBy without end
function* f() { for (let i = 0; ; i++) yield i }
return Map.groupBy(f(), (x) => x).size
//=> memory_limit_exceeded

//// Object.fromEntries without end
function* f() { for (let i = 0; ; i++) yield ["k" + i, i] }
return Object.fromEntries(f())
//=> memory_limit_exceeded

//// an async generator without end
async function* f() { for (;;) yield 1 }
for await (const x of f());
//=> timeout

//// sumPrecise of everything
function* f() { for (;;) yield 1 }
return Math.sumPrecise(f())
//=> timeout

//// destructuring takes no more than it needs
function* f() { for (let i = 0; ; i++) yield i }
const [a, b, , c] = f()
return [a, b, c]
//=> completed [0,1,3]

//// an iterator whose done is a getter that spins
for (const x of { [Symbol.iterator]: () => ({ next: () => ({ get done() { for (;;); } }) }) });
//=> timeout

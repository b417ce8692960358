//// protocol
function* g() { const a = yield 1; try { const b = yield a * 2; return b; } finally { yield 'cleanup'; } } const i = g(); return [i.next('ignored'), i.next(5), i.return('early'), i.next(), i.next()];
//// throw into
function* g() { for (;;) try { yield 1; } catch (e) { yield 'caught ' + e; } } const i = g(); i.next(); return [i.throw('x'), i.next(), i.next()];
//// delegation
function* a() { const r = yield* b(); yield 'r' + r; } function* b() { yield 1; yield 2; return 3; } return [...a(), ...(function* () { yield* 'hey'; yield* [1, 2]; })()];
//// infinite with take
function* nat() { let n = 0; for (;;) yield n++; } const r = []; for (const n of nat()) { if (n > 5) break; r.push(n); } return r;
//// return runs finally on break
const log = []; function* g() { try { yield 1; yield 2; } finally { log.push('done'); } } for (const x of g()) break; const [a] = g(); return [log, a];
//// generator methods and this
const o = { x: 5, *g() { yield this.x; }, *[Symbol.iterator]() { yield* [1, 2, this.x]; } }; return [...o.g(), ...o, Math.max(...o)];
//// recursive tree
const t = { v: 1, c: [{ v: 2, c: [{ v: 3, c: [] }] }, { v: 4, c: [] }] }; function* walk(n) { yield n.v; for (const c of n.c) yield* walk(c); } return [...walk(t)];
//// running generator
const i = (function* () { i.next(); })(); try { i.next(); } catch (e) { return [e.name, e.message]; }
//// exhausted
const i = (function* () { return 1; })(); return [i.next(), i.next(), i.return(5), (() => { try { i.throw(new Error('t')); } catch (e) { return e.message; } })()];
//// arguments and defaults
function* g(a, b = a + 1, ...c) { yield [a, b, c, arguments.length]; } return [...g(1), ...g(1, 2, 3, 4)];
//// iterator helpers
const it = [1, 2, 3, 4, 5, 6].values(); return it.map ? [it.filter(x => x % 2).map(x => x * 10).drop(1).toArray(), [1, 2].values().flatMap(x => [x, x]).toArray(), [3, 4].values().reduce((a, b) => a + b), [1].values().some(x => x), Iterator.from({ next: () => ({ done: true }) }).toArray()] : 'none';
//// custom iterator closing
const log = []; const it = { [Symbol.iterator]: () => ({ n: 0, next() { return { value: this.n++, done: this.n > 3 }; }, return() { log.push('closed'); return {}; } }) }; for (const x of it) if (x) break; try { for (const x of it) throw 'e'; } catch { } const [a, b] = it; [...it]; return [log, a, b];
//// prototypes
function* g() { } g.prototype.x = 1; return [g().x, g() instanceof g, Object.prototype.toString.call(g()), typeof g.prototype, 'constructor' in g.prototype];
//// fibonacci with state
function* fib() { let [a, b] = [0n, 1n]; for (;;) { yield a; [a, b] = [b, a + b]; } } let n = 0; for (const f of fib()) if (n++ === 200) return String(f);

//// closures in loops
const f = []; for (let i = 0; i < 3; i++) f.push(() => i++); var g = []; for (var j = 0; j < 3; j++) g.push(() => j); return [f.map(x => x()), f.map(x => x()), g.map(x => x())];
//// counters share state
const mk = () => { let n = 0; return { inc: () => ++n, dec: () => --n, get n() { return n; } }; }; const a = mk(), b = mk(); a.inc(); a.inc(); b.dec(); return [a.n, b.n];
//// hoisting
const r = [typeof h, typeof v]; var v = 1; function h() { } { function inner() { return 1; } } return [r, typeof inner, (() => { try { l; } catch (e) { return e.name; } let l; })()];
//// this
const o = { f() { return this?.x; }, g: () => typeof this, x: 1 }; const { f } = o; return [o.f(), (0, o.f)() === undefined, f.call({ x: 2 }), f.bind({ x: 3 }).call({ x: 4 }), o['f'](), (o.f)()];
//// arguments object
function f(a, b) { arguments[0] = 'x'; b = 'y'; return [a, arguments[1], arguments.length, [...arguments]]; } function s(a) { 'use strict'; arguments[0] = 'x'; return a; } return [f(1, 2, 3), s(1), f.length, (function () { return typeof arguments.callee; })()];
//// labels
const r = []; a: for (let i = 0; i < 3; i++) { b: for (let j = 0; j < 3; j++) { if (j === 1) continue a; if (i === 2) break a; r.push(i + '' + j); } } blk: { r.push('in'); break blk; } return r;
//// switch
const f = x => { const r = []; switch (x) { case 1: r.push(1); case 2: r.push(2); break; default: r.push('d'); case 3: r.push(3); } return r; }; return [f(1), f(2), f(3), f(4), f('1')];
//// loops
const r = []; for (const k in { b: 1, a: 2, 1: 3, __proto__: { p: 4 } }) r.push(k); let i = 0; do { r.push(i); } while (++i < 2); while (i-- > 0) r.push('w' + i); for (; ;) break; for (const c of 'hi') r.push(c); return r;
//// recursion and mutual recursion
const even = n => n === 0 || odd(n - 1), odd = n => n !== 0 && even(n - 1); const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); const ack = (m, n) => m ? n ? ack(m - 1, ack(m, n - 1)) : ack(m - 1, 1) : n + 1; return [even(100), fib(15), ack(2, 3)];
//// eval and Function
var x = 'local'; return [eval('x'), (0, eval)('typeof x'), eval('var y = 2; y * 2'), typeof y, new Function('a', 'b', 'return a + b')(1, 2), eval('({a: 1})').a, eval('let z = 1; z'), typeof z];
//// getters and property attributes
const o = {}; Object.defineProperty(o, 'h', { value: 1 }); Object.defineProperty(o, 'e', { value: 2, enumerable: true }); try { (() => { 'use strict'; o.h = 5; })(); } catch (e) { return [e.name, e.message, o, Object.keys(o), Object.getOwnPropertyDescriptors(o), Object.isFrozen(Object.freeze(o))]; }
//// freeze seal preventExtensions
const f = Object.freeze({ a: { b: 1 } }), s = Object.seal({ a: 1 }), p = Object.preventExtensions({ a: 1 }); f.a.b = 2; f.x = 1; s.a = 2; delete s.a; p.b = 1; delete p.a; return [f, s, p, Object.isSealed(f), Object.isExtensible(p)];
//// property order
return [Object.keys({ b: 1, 10: 1, a: 1, 2: 1, [-1]: 1, '01': 1 }), JSON.stringify({ z: 1, 1: 2 }), Object.entries('ab')];
//// Object statics
return [Object.assign({}, null, { a: 1 }, 'x'), Object.is(-0, 0), Object.getOwnPropertyNames('ab'), Object.fromEntries([['a', 1]]), Object.hasOwn({ a: 1 }, 'a'), { __proto__: null } instanceof Object, Object.setPrototypeOf({ a: 1 }, { b: 2 }).b, Object.values({ x: 1 })];
//// with and sloppy mode
var o = { a: 1 }; with (o) { a = 2; var b = a; } undeclared1 = 5; return [o.a, b, undeclared1, delete globalThis.undeclared1, (function () { return this === globalThis; })()];
//// currying and composition
const curry = f => function c(...a) { return a.length >= f.length ? f(...a) : (...b) => c(...a, ...b); }; const pipe = (...f) => x => f.reduce((v, g) => g(v), x); return [curry((a, b, c) => a + b + c)(1)(2)(3), pipe(x => x + 1, x => x * 2)(3)];
//// memo and sieve
const memo = f => { const c = new Map; return n => c.has(n) ? c.get(n) : (c.set(n, f(n)), c.get(n)); }; const fib = memo(n => n < 2n ? n : fib(n - 1n) + fib(n - 2n)); const sieve = n => { const s = new Uint8Array(n + 1), r = []; for (let i = 2; i <= n; i++) if (!s[i]) { r.push(i); for (let j = i * i; j <= n; j += i) s[j] = 1; } return r; }; return [String(fib(150n)), sieve(60)];
//// text processing
const t = 'the quick brown fox jumps over the lazy dog the end'; const c = {}; for (const w of t.split(' ')) c[w] = (c[w] ?? 0) + 1; return Object.entries(c).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 4);
//// matrix and permutations
const mul = (a, b) => a.map(r => b[0].map((_, j) => r.reduce((s, x, k) => s + x * b[k][j], 0))); const perms = a => a.length ? a.flatMap((x, i) => perms([...a.slice(0, i), ...a.slice(i + 1)]).map(p => [x, ...p])) : [[]]; return [mul([[1, 2], [3, 4]], [[5, 6], [7, 8]]), perms([1, 2, 3]).map(p => p.join('')), perms([1, 2, 3, 4]).length];
//// no value
const x = 1;
//// globalThis shape
return [typeof globalThis, globalThis === this, typeof Infinity, 'undefined' in globalThis, Object.getOwnPropertyDescriptor(globalThis, 'NaN').writable];

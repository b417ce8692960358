//// arrays
const [a, , b = 5, ...c] = [1, 2, undefined, 4, 5]; const [[x], [y = x] = []] = [[9]]; return [a, b, c, x, y];
//// objects
const { a, b: { c = 2, ...d }, ['k' + 1]: e = a, ...rest } = { a: 1, b: { x: 5, y: 6 }, z: 7, w: 8 }; return [a, c, d, e, rest];
//// swap and assignment targets
let a = 1, b = 2; const o = {}; [a, b] = [b, a];[o.x, o['y']] = [3, 4]; ({ p: o.z, q: [o.w] } = { p: 5, q: [6] }); return [a, b, o];
//// parameters
const f = ({ a = 1, b } = {}, [c, d = c] = [7], ...[e]) => [a, b, c, d, e]; return [f(), f({ b: 2 }, [3, 4], 5), f.length];
//// defaults are lazy and scoped
let n = 0; const g = () => ++n; const { a = g(), b = a + 1 } = { a: 0 }; const [c = g()] = []; return [a, b, c, n];
//// order of evaluation
const log = []; const src = { get a() { log.push('a'); }, get b() { log.push('b'); } }; const { b = log.push('db'), a = log.push('da') } = src; return log;
//// errors
return [() => { const { a } = null; }, () => { const [a] = {}; }, () => { const [a] = undefined; }, () => { (({ a }) => a)(); }, () => { for (const [a] of [1]); }].map(f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } });
//// iterators are closed
let closed = 0; const it = { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }), return: () => (closed++, {}) }) }; const [a, b] = it; const [c, ...d] = [1, 2]; return [closed, a, b, d];
//// loops
const r = []; for (const [k, { v }] of Object.entries({ a: { v: 1 }, b: { v: 2 } })) r.push(k + v); for (const { length } of ['ab', 'c']) r.push(length); return r;
//// spread
return [[...'héy', ...new Set([1, 1, 2])], { ...{ a: 1, b: 2 }, b: 3, ...null, ...'hi', ...[9] }, Math.max(...[1, 5], 3), [...[, 1]]];

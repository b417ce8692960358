//// Map order and mutation while iterating
const m = new Map([['a', 1], ['b', 2], ['c', 3]]), r = []; for (const [k] of m) { r.push(k); if (k === 'a') { m.delete('b'); m.set('d', 4); m.delete('a'); m.set('a', 5); } if (r.length > 8) break; } return [r, [...m], m.size];
//// Set algebra
const a = new Set([1, 2, 3]), b = new Set([2, 3, 4]); return a.union ? [[...a.union(b)], [...a.intersection(b)], [...a.difference(b)], [...a.symmetricDifference(b)], a.isSubsetOf(b), a.isDisjointFrom(new Set([9]))] : 'none';
//// keys by SameValueZero
const o = {}; const m = new Map([[NaN, 'nan'], [0, 'zero'], [o, 'o'], ['1', 's'], [1, 'n']]); return [m.get(NaN), m.get(-0), m.get(o), m.get({}), m.get('1'), m.get(1), [...new Set([0, -0, NaN, NaN])].length];
//// WeakMap, WeakSet, WeakRef
const k = {}, wm = new WeakMap([[k, 1]]), ws = new WeakSet([k]), wr = new WeakRef(k); return [wm.get(k), wm.has({}), ws.has(k), wr.deref() === k, wm.delete(k), wm.has(k), (() => { try { wm.set(1, 1); } catch (e) { return e.name + ': ' + e.message; } })(), new WeakMap([[Symbol('s'), 1]]) instanceof WeakMap];
//// groupBy and fromEntries
return [Object.groupBy([1, 2, 3, 4], x => (x % 2 ? 'odd' : 'even')), [...Map.groupBy([1, 2, 3], x => x > 1)], Object.fromEntries(new Map([['a', 1]])), Object.entries({ x: 1 })];
//// iterators
const m = new Map([[1, 'a'], [2, 'b']]), it = m.keys(); return [it.next(), it[Symbol.toStringTag], [...it], it.next(), [...m.values()], [...new Set('aab').entries()], m.forEach(() => 1), it[Symbol.iterator]() === it];
//// array methods
const a = [5, 1, 4]; return [a.toSorted(), a.toReversed(), a.with(1, 9), a.toSpliced(0, 1, 'x', 'y'), a, [3, 20, 100].sort(), [1, [2, [3, [4]]]].flat(Infinity), a.findLastIndex(x => x > 3), Array.from({ length: 3 }, (_, i) => i * i), Array.of(7), [1, 2, 3].copyWithin(0, 1), [1, 2, 3, 4].fill(0, 1, -1), [..."ab"].entries().next(), a.at(-1), [[1, 2], [3]].flatMap(x => x), a.includes(NaN), [NaN].includes(NaN), [NaN].indexOf(NaN), [1, 2, 3].reduceRight((x, y) => x + '-' + y)];
//// sparse arrays
const a = [1, , 3]; a[5] = 6; return [a.length, 1 in a, a.map(x => x * 2), Object.keys(a), a.indexOf(undefined), a.includes(undefined), a.forEach(x => x), [...a], a.join(), JSON.stringify(a), delete a[0], a.flat()];
//// array length
const a = [1, 2, 3]; a.length = 1; a[3] = 4; const b = []; b[4294967295] = 1; return [a, b.length, (() => { try { a.length = -1; } catch (e) { return e.name + e.message; } })(), [].concat(1, [2], [[3]]), Array.isArray(new Proxy([], {})), Array(3).length, Array('3')];
//// splice slice and sort stability
const a = [1, 2, 3, 4, 5], r = a.splice(1, 2, 'x'); const s = [['b', 1], ['a', 1], ['c', 0], ['d', 1]].sort((p, q) => p[1] - q[1]); return [a, r, a.slice(-2), a.slice(1, -1), s, [3, 1, undefined, 2].sort(), [1, 10, 2].sort(), [true, 'b', null, 1].sort()];
//// array-likes and species
const like = { length: 2, 0: 'a', 1: 'b' }; return [Array.prototype.map.call(like, x => x + x), Array.from(like), [].concat({ length: 1, 0: 'q', [Symbol.isConcatSpreadable]: true }), Array.prototype.push.call(like, 'c'), like];
//// large sort
const a = Array.from({ length: 2000 }, (_, i) => (i * 7919) % 2003); a.sort((x, y) => x - y); return [a[0], a[999], a[1999], a.every((x, i) => !i || a[i - 1] <= x)];

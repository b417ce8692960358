//// registry and description
const s = Symbol('d'); return [String(s), s.description, Symbol.for('a') === Symbol.for('a'), Symbol.keyFor(Symbol.for('k')), Symbol.keyFor(s), Symbol() === Symbol(), Symbol().description, typeof s, Object(s) == s];
//// as keys
const k = Symbol('k'), o = { [k]: 1, a: 2 }; return [o[k], Object.keys(o), JSON.stringify(o), Object.getOwnPropertySymbols(o).length, { ...o }[k], k in o, Object.assign({}, o)[k]];
//// well known
const o = { [Symbol.toPrimitive]: h => h, [Symbol.toStringTag]: 'T', [Symbol.isConcatSpreadable]: true, length: 1, 0: 'c' }; return [`${o}`, +o, o + '', String(Object.prototype.toString.call(o)), [].concat(o), Symbol.iterator.toString()];
//// species and match
class A extends Array { static get [Symbol.species]() { return Array; } } return [new A(1, 2).map(x => x) instanceof A, 'abc'.match({ [Symbol.match]: () => 'm' }), 'abc'.split({ [Symbol.split]: s => s + '!' }), 'abc'.startsWith((() => { const r = /a/; r[Symbol.match] = false; return r; })())];
//// errors
return [() => new Symbol, () => +Symbol(), () => `${Symbol('x')}`, () => Symbol() + 1, () => Symbol.keyFor('x')].map(f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } });

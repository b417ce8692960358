//// messages of common mistakes
const f = [() => null.x, () => undefined.x.y, () => x1, () => (void 0)(), () => { const c = 1; c = 2; }, () => new (() => {}), () => [].reduce((a, b) => a), () => new Array(-1), () => 'x'.repeat(-1), () => (1).toFixed(101), () => null[Symbol.iterator], () => { for (const a of 5); }, () => ({}).x.y, () => Symbol() + '', () => BigInt(1.5), () => 1n + 1, () => JSON.parse('{'), () => decodeURIComponent('%'), () => new Proxy({}, null), () => Object.defineProperty(1, 'a', {}), () => Reflect.ownKeys(1), () => 'a' in 'b', () => ({}) instanceof 5, () => class A extends 5 {}, () => { class A { constructor() { this.x; } } A(); }, () => { class B extends Object { constructor() { this.x; } } new B; }];
return f.map(g => { try { return g(); } catch (e) { return e.name + ': ' + e.message; } });
//// temporal dead zone
try { x; let x = 1; } catch (e) { return [e.name, e.message]; }
//// error properties
const e = new RangeError('m', { cause: 'c' }); return [e.name, e.message, e.cause, String(e), e instanceof Error, Object.keys(e), 'stack' in e, Object.prototype.toString.call(e)];
//// aggregate error
try { await Promise.any([Promise.reject(1), Promise.reject(2)]); } catch (e) { return [e.name, e.errors, e.message]; }
//// custom errors
class E extends Error { constructor(m) { super(m); this.name = 'E'; this.extra = 1; } } try { throw new E('x'); } catch (e) { return [String(e), e.extra, e instanceof E, e instanceof Error, e.constructor.name]; }
//// finally order
const log = []; const f = () => { try { log.push('t'); return 'r'; } finally { log.push('f'); } }; const g = () => { try { throw 1; } catch { return 'c'; } finally { return 'f'; } }; return [f(), g(), log];
//// finally overrides break
let n = 0; outer: for (;;) { try { n++; if (n > 3) break outer; continue; } finally { n += 10; } } return n;
//// nested rethrow
try { try { throw new TypeError('a'); } catch (e) { throw new Error('b', { cause: e }); } } catch (e) { return [e.message, e.cause.message, e.cause.name]; }
//// thrown values
const r = []; for (const v of [1, 'x', null, undefined, { a: 1 }, [1], NaN]) try { throw v; } catch (e) { r.push(e); } return r;
//// syntax errors from eval
return ['1 +', 'let a; let a', 'for (', '"', '/(/', 'return', 'await 1', 'class { }', 'a => { } ()', '({a:1, a:2})', 'var 1a', '`${`', 'new.target', 'yield', 'x = { get a(b) {} }', 'function* g() { yield\n* 2 }', '"use strict"; with (a) b', '"use strict"; 010', 'let let = 1', 'break', '({ __proto__: 1, __proto__: 2 })'].map(s => { try { return (0, eval)(s); } catch (e) { return e.name + ': ' + e.message; } });
//// stack has the functions
function inner() { throw new Error('x'); } function outer() { inner(); } try { outer(); } catch (e) { return /inner[\s\S]*outer/.test(e.stack); }
//// catch binding patterns
try { throw { a: 1, b: [2, 3] }; } catch ({ a, b: [, c] }) { return [a, c]; }
//// error in getter of a chain
const o = { get a() { throw new Error('getter'); } }; try { o?.a?.b; } catch (e) { return e.message; }
//// toString that throws
try { return `${{ toString() { throw new RangeError('no'); } }}`; } catch (e) { return e.name; }
//// uncaught at the top
throw new URIError('top');
//// rejected at the top
await Promise.reject(new EvalError('rejected'));

//// order of microtasks
const log = []; const p = Promise.resolve(); p.then(() => log.push(1)).then(() => log.push(3)); p.then(() => log.push(2)); (async () => { log.push('a'); await null; log.push('b'); await null; log.push('c'); })(); log.push('sync'); for (let i = 0; i < 8; i++) await null; return log;
//// await non-promises
return [await 1, await { then(f) { f(2); } }, await { then: 3 }, await Promise.resolve(4)];
//// then returns a thenable
return await Promise.resolve(1).then(v => ({ then(f) { f(v + 1); } }));
//// all, allSettled, race, any
const d = (v, n) => n ? Promise.resolve().then(() => d(v, n - 1)) : v; return [await Promise.all([d(1, 3), 2, d(3, 1)]), await Promise.allSettled([d(1, 1), Promise.reject(2)]), await Promise.race([d('slow', 5), d('fast', 1)]), await Promise.any([Promise.reject(1), d(2, 2)])];
//// rejections and finally
const log = []; await Promise.reject('r').finally(() => log.push('f')).catch(e => log.push('c' + e)); await Promise.resolve('v').finally(() => 'ignored').then(v => log.push(v)); await Promise.resolve().finally(() => { throw 'x'; }).catch(e => log.push(e)); return log;
//// resolve and reject once
let out = []; await new Promise((f, r) => { f(1); f(2); r(3); throw 4; }).then(v => out.push(v)); return out;
//// self resolution
let res; const p = new Promise(f => res = f); res(p); try { await p; } catch (e) { return [e.name, e.message]; }
//// thenable that throws
try { await { then() { throw new Error('t'); } }; } catch (e) { return e.message; }
//// thenable that resolves twice
return await { then(f) { f(1); f(2); throw 3; } };
//// async arrow this and arguments
return await (async function () { return await (async () => [this.x, arguments[0]])(); }).call({ x: 1 }, 2);
//// async return in try
const f = async () => { try { return await Promise.reject(1); } catch (e) { return 'caught' + e; } finally { log.push('f'); } }; const log = []; return [await f(), log];
//// async iteration of promises
const r = []; for await (const v of [Promise.resolve(1), 2, Promise.resolve(3)]) r.push(v); return r;
//// promise subclass
class P extends Promise { } const p = P.resolve(1).then(v => v + 1); return [p instanceof P, await p, p.constructor.name];
//// withResolvers and try
const w = Promise.withResolvers(); w.resolve(5); return [await w.promise, typeof Promise.try === 'function' ? await Promise.try(x => x + 1, 1) : 'none'];
//// long chain
let p = Promise.resolve(0); for (let i = 0; i < 500; i++) p = p.then(v => v + i); return await p;
//// sequential awaits in a loop
let s = 0; for (let i = 0; i < 200; i++) s += await (async x => x * 2)(i); return s;
//// interleaving
const log = []; const w = async n => { for (let i = 0; i < 3; i++) { log.push(n + i); await null; } }; await Promise.all([w('a'), w('b'), w('c')]); return log.join();
//// await in parameters and expressions
const f = async (a, b = a + 1) => a + b; return [await f(await 1) + await f(2, await 3), [...await Promise.all([1, 2])], { k: await 'v' }, `${await 't'}`];
//// unhandled then handled
const p = Promise.reject(1); await null; return await p.catch(e => e + 1);
//// constructor errors
return await Promise.all([() => new Promise(), () => Promise(), () => Promise.resolve.call(1), () => Promise.prototype.then.call({})].map(f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } }));

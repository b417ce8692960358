//// order
const log = []; async function* g() { log.push('s'); const x = yield 1; log.push(x); yield await Promise.resolve(2); return 3; } const i = g(); return [await i.next(), await i.next('x'), await i.next(), await i.next(), log];
//// queued requests
async function* g() { yield 1; yield 2; yield 3; } const i = g(); return await Promise.all([i.next(), i.next(), i.return('r'), i.next()]);
//// for await with break
const log = []; async function* g() { try { for (let i = 0;; i++) yield i; } finally { log.push('closed'); } } for await (const x of g()) if (x > 2) break; return log;
//// throw into
async function* g() { try { yield 1; } catch (e) { yield 'c' + e; } } const i = g(); await i.next(); return [await i.throw('x'), await i.next()];
//// delegation to sync and async
async function* a() { yield* [1, Promise.resolve(2)]; yield* b(); } async function* b() { yield 3; return 4; } const r = []; for await (const x of a()) r.push(x); return r;
//// yield of a rejected promise
async function* g() { try { yield Promise.reject(new Error('no')); } catch (e) { yield e.message; } } const r = []; for await (const x of g()) r.push(x); return r;
//// pipeline
async function* src() { for (let i = 0; i < 5; i++) { await null; yield i; } } async function* map(s, f) { for await (const x of s) yield f(x); } const r = []; for await (const x of map(src(), x => x * x)) r.push(x); return r;
//// error in the consumer
const log = []; async function* g() { try { yield 1; yield 2; } finally { log.push('f'); } } try { for await (const x of g()) throw new Error('e' + x); } catch (e) { log.push(e.message); } return log;
//// async method in class
class A { async *items() { yield* this.list; } list = [1, 2]; static async *all() { yield 'static'; } } const r = []; for await (const x of new A().items()) r.push(x); for await (const x of A.all()) r.push(x); return r;

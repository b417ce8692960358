//// traps
const log = []; const h = new Proxy({}, { get: (_, k) => (t, ...a) => { log.push(k); return Reflect[k](t, ...a); } }); const p = new Proxy({ a: 1 }, h); p.a; p.b = 2; 'a' in p; delete p.a; Object.keys(p); ({ ...p }); Object.getOwnPropertyDescriptor(p, 'b'); Object.getPrototypeOf(p); Object.isExtensible(p); for (const k in p); return log;
//// function proxies
const f = new Proxy(function (a) { return a; }, { apply: (t, th, a) => 'called ' + a, construct: (t, a) => ({ made: a }) }); return [f(1), new f(2), f.call(null, 3), Reflect.construct(f, [4])];
//// invariants
const t = Object.freeze({ a: 1 }); const p = new Proxy(t, { get: () => 2, has: () => false, ownKeys: () => ['z'], deleteProperty: () => true, set: () => true, getOwnPropertyDescriptor: () => undefined }); return [() => p.a, () => 'a' in p, () => Object.keys(p), () => delete p.a, () => { p.a = 5; }, () => Object.getOwnPropertyDescriptor(p, 'a')].map(f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } });
//// revoked
const { proxy, revoke } = Proxy.revocable({ a: 1 }, {}); const before = proxy.a; revoke(); try { proxy.a; } catch (e) { return [before, e.name, e.message, typeof proxy]; }
//// defaults object
const d = new Proxy({}, { get: (t, k, r) => (k in t ? Reflect.get(t, k, r) : (t[k] = [])) }); d.x.push(1); d.x.push(2); d.y; return d;
//// negative index
const neg = a => new Proxy(a, { get: (t, k, r) => Reflect.get(t, typeof k === 'string' && /^-\d+$/.test(k) ? t.length + +k : k, r) }); const a = neg([1, 2, 3]); return [a[-1], a.length, a.slice(1), JSON.stringify(a), Array.isArray(a)];
//// proxy as prototype
const o = Object.create(new Proxy({}, { get: (t, k, r) => String(k) + (r === o), has: () => true })); o.own = 1; return [o.own, o.missing, 'anything' in o];
//// Reflect
const o = { a: 1, get b() { return this.x; } }; return [Reflect.get(o, 'b', { x: 5 }), Reflect.has(o, 'a'), Reflect.ownKeys({ b: 1, 2: 1, a: 1, 1: 1, [Symbol.iterator]: 1 }).map(String), Reflect.defineProperty(Object.freeze({}), 'a', { value: 1 }), Reflect.apply(Math.max, null, [1, 2]), Reflect.set(Object.freeze({ a: 1 }), 'a', 2), Reflect.getPrototypeOf([]) === Array.prototype];

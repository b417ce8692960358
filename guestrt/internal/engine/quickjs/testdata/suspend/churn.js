// A hundred suspensions with a heap that is built and dropped between them.
let seed = 42, chk = 0;
const rnd = n => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) % n;
const store = new Map(), objs = [], weak = new WeakMap(), registry = new FinalizationRegistry(() => {});
class Link { constructor(v, next) { this.v = v; this.next = next; this['k' + (v % 97)] = v; } sum() { let s = 0; for (let n = this; n; n = n.next) s += n.v; return s; } }
function* ids() { let i = 0; for (;;) { const r = yield i++; if (r) i += r; } }
const id = ids(); id.next();
let list = null;
const re = /(\d+)-(\w+)/g;
for (let h = 0; h < 100; h++) {
  for (let i = 0; i < 60; i++) { const k = 'key' + rnd(900); if (rnd(3)) store.set(k, { v: rnd(1000), t: new Uint16Array(rnd(50)), b: BigInt(rnd(1e6)) ** 3n }); else store.delete(k); }
  list = new Link(rnd(500), rnd(4) ? list : null); weak.set(list, h); registry.register(list, h);
  objs[rnd(100)] = { s: ('x' + rnd(100)).repeat(rnd(300)), d: new Date(rnd(1e9)), r: new RegExp('a' + rnd(50) + 'b+', 'g'), f: (a => () => a + h)(rnd(9)), p: new Proxy({}, { get: () => h }) };
  const cycle = { a: rnd(9) }; cycle.self = [cycle];
  const a = Array.from({ length: rnd(200) }, () => rnd(1000)).sort((x, y) => x - y), txt = a.map(x => x + '-w').join(' ');
  let c = 0, m; re.lastIndex = 0; while ((m = re.exec(txt)) && c < 2000) c += +m[1];
  const r = await tools.call('echo', { n: rnd(100) });
  try { if (rnd(5) === 0) throw new RangeError('boom' + r.n); } catch (e) { chk = (chk + e.message.length) & 0xffffff; }
  chk = (Math.imul(chk, 31) + r.n + c + store.size + list.sum() + id.next(rnd(2)).value + objs.reduce((s, o) => s + (o ? o.f() + o.s.length + o.d.getTime() % 7 : 0), 0)) | 0;
  if (weak.get(list) !== h) throw new Error('the WeakMap lost an entry');
}
let sum = 0n;
for (const [, v] of store) sum += v.b + BigInt(v.t.length);
return [String(sum), chk, store.size];

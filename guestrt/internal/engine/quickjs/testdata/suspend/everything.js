// Everything a guest can hold across a suspension. Each await of tools.call is
// one: the test moves the guest to a new process there.
const LOG = [];
class Animal {
  #secret = 7;
  static #made = 0;
  constructor(n) { this.n = n; Animal.#made++; }
  get loud() { return this.n.toUpperCase(); }
  reveal() { return this.#secret; }
  bump() { return ++this.#secret; }
  static made() { return Animal.#made; }
}
class Dog extends Animal {
  constructor(n) { super(n); this.tricks = new Set(['sit']); }
  *walk(k) { for (let i = 0; i < k; i++) { const got = yield this.n + i; if (got) LOG.push('got:' + got); } return 'home'; }
}
const local = Symbol('local'), shared = Symbol.for('shared');
const counter = (() => { let c = 0; return { inc: () => ++c, get: () => c }; })();
counter.inc(); counter.inc();
async function* numbers(n) {
  try { for (let i = 0; i < n; i++) yield (await tools.call('number', { i })).i * 10; } finally { LOG.push('closed'); }
}
const d = new Dog('rex'), walk = d.walk(4);
walk.next(); walk.next('bone');
const m = new Map([['a', 1], [d, 'dogkey'], [NaN, 'nan'], [1n, 'big']]), s = new Set([3, 1, 2]);
const wm = new WeakMap([[d, 'weak']]), ws = new WeakSet([d]), ref = new WeakRef(d);
const mapIt = m.entries(), setIt = s.values(), strIt = 'a😀b'[Symbol.iterator](), arrIt = [7, 8, 9].entries();
mapIt.next(); setIt.next(); strIt.next(); arrIt.next();
const f64 = new Float64Array([1.5, -0, Math.PI, 1e308]), u8 = new Uint8Array(f64.buffer, 8, 8), view = new DataView(f64.buffer);
const re = /(?<y>\d{4})-(?<m>\d\d)/gu, sticky = /a/y, text1 = 'on 2024-05 and 2025-06 and 2026-07';
const first = re.exec(text1);
sticky.lastIndex = 1;
const matches = 'x1y22z333'.matchAll(/\d+/g);
matches.next();
let big = 2n ** 300n + 12345n;
const date = new Date(86400000 * 365);
const proxy = new Proxy({ z: 1 }, { get(t, k) { return k in t ? t[k] : 'proxy:' + String(k); }, has: () => true });
const revocable = Proxy.revocable({}, {});
const bound = function (a, b) { return this.k + a + b; }.bind({ k: 100 }, 20);
const obj = { [local]: 'local', [shared]: 'shared', get acc() { return counter.get() * 10; }, __proto__: { inherited: 'yes' } };
const err = (() => { try { null.x; } catch (e) { return e; } })();
const rope = Array.from({ length: 200 }, (_, i) => 'seg' + i).reduce((a, b) => a + '/' + b);
const frozen = Object.freeze({ deep: [1, 2, { x: 3 }] });
const cyclic = { name: 'c' }; cyclic.self = cyclic;
const template = ((q, ...v) => q.raw.join('|') + v.join())`a${1}\n${2}b`;
let ticks = 0;
const timer = new Promise(resolve => setTimeout(() => { ticks++; resolve('timer'); }, 5));
const cancelled = setTimeout(() => { ticks += 100; }, 600_000);
const gen = numbers(3), genFirst = gen.next();
const both = tools.call('second', { q: 2 });
const thenable = { then(f) { f('then'); } };
label: for (const x of [1, 2, 3]) { for (const y of [1, 2]) { if (x === 2) continue label; LOG.push(x + '' + y); } }
let fin = 'no';
const answers = [];
try {
  const [r1, r2] = await Promise.all([tools.call('first', { q: 1 }), both]);
  clearTimeout(cancelled);
  answers.push(r1.q, r2.q, (await genFirst).value, (await gen.next()).value);
  for await (const v of { [Symbol.asyncIterator]: () => gen }) { answers.push(v); break; }
  answers.push(await thenable, await timer);
  let caught;
  try { revocable.revoke(); revocable.proxy.x; } catch (e) { caught = e.constructor.name; }
  await tools.call('last', {});
  return {
    answers, caught, ticks, fin,
    c: [counter.inc(), counter.get()], walk: [walk.next('ball').value, walk.next().value, walk.next()],
    m: [...mapIt].length, s: [...setIt], str: [...strIt], arr: [...arrIt],
    keys: [m.get(d), m.get(NaN), m.get(1n), wm.get(d), ws.has(d), ref.deref() === d],
    f64: Array.from(f64), u8: Array.from(u8), view: view.getFloat64(16, true),
    re: [first.groups.y, re.lastIndex, re.exec(text1).groups.m, re.exec(text1).index, re.exec(text1)], sticky: [sticky.test('ba'), sticky.lastIndex],
    matches: [...matches].map(x => x[0]), big: (big * big % 1000000007n).toString(), date: date.toISOString(),
    proxy: [proxy.z, proxy.foo, 'anything' in proxy], bound: bound(3), sym: [obj[local], obj[Symbol.for('shared')], obj.acc, obj.inherited],
    err: [err instanceof TypeError, err.message, typeof err.stack], rope: rope.length + rope.slice(-6), frozen: Object.isFrozen(frozen),
    secret: [d.reveal(), d.bump(), Animal.made(), d.loud], cyclic: cyclic.self.self === cyclic, template, LOG,
    late: [new Function('a', 'return a * 2')(21), eval('1 + counter.get()'), Object.groupBy([1, 2, 3], x => (x % 2 ? 'o' : 'e')).o.length, structured()],
  };
} finally { fin = 'yes'; LOG.push('finally'); }
function structured() { return JSON.stringify(JSON.parse('{"n":[1,2,{"t":true}]}')); }

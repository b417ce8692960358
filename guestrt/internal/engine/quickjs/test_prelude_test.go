package quickjs

// testPrelude is the smallest prelude that meets the engine's side of the
// contract. The engine's tests use it where they test the engine alone.
const testPrelude = `(native) => {
  'use strict';
  const { stringify, parse } = JSON, now = Date.now;
  const P = Promise, then = P.prototype.then, call = (f, t, ...a) => Reflect.apply(f, t, a);
  let nextId = 1, nextTimer = 1, requests = [], output = [], state = 0, value = null, error = null;
  const calls = new Map(), timers = new Map(), unhandled = new Map();
  const describe = e => (typeof e === 'object' && e !== null)
    ? { name: String(e.name ?? 'Error'), message: String(e.message ?? ''), stack: String(e.stack ?? '') }
    : { name: 'Error', message: String(e), stack: '' };
  const ask = (method, ...rest) => new P((resolve, reject) => {
    const id = nextId++; calls.set(id, { resolve, reject }); requests.push([id, method, ...rest]);
  });
  globalThis.tools = { call: (t, i) => ask('call', t, i ?? {}) };
  globalThis.yield_control = r => ask('yield', r ?? '');
  globalThis.text = s => { output.push(['text', String(s)]); };
  globalThis.readFile = p => native.file(p);
  globalThis.setTimeout = (f, ms) => { const id = nextTimer++; timers.set(id, { f, due: now() + (ms || 0) }); return id; };
  globalThis.clearTimeout = id => { timers.delete(id); };
  const sweep = () => {
    const r = native.rejections;
    for (let i = 0; i < r.length; i += 3) { if (r[i] === 0) unhandled.set(r[i + 1], r[i + 2]); else unhandled.delete(r[i + 1]); }
    r.length = 0;
  };
  return {
    start(config, cell) {
      parse(config);
      call(then, cell(), v => { value = v; state = 1; }, e => { error = e; state = 2; });
    },
    settle(id, ok, json) {
      const c = calls.get(id); if (!c) return false;
      calls.delete(id); const v = parse(json);
      if (ok) c.resolve(v); else c.reject(Object.assign(new Error(v.message), v));
      return true;
    },
    fire() {
      let best = null, key = 0;
      for (const [id, t] of timers) if (t.due <= now() && (!best || t.due < best.due)) { best = t; key = id; }
      if (!best) return false;
      timers.delete(key); best.f(); return true;
    },
    drain() {
      sweep();
      const d = { s: 0, o: output, r: requests, p: calls.size, t: -1 };
      output = []; requests = [];
      for (const t of timers.values()) { const ms = Math.max(0, t.due - now()); if (d.t < 0 || ms < d.t) d.t = ms; }
      if (state && !calls.size) {
        d.s = state;
        if (state === 1 && unhandled.size) { d.s = 2; error = [...unhandled.values()][0]; }
        if (d.s === 1) d.v = value === undefined ? null : value; else d.e = describe(error);
      }
      return stringify(d, (k, v) => typeof v === 'bigint' ? String(v) : v);
    },
  };
}`

// testBuild is the build id of the tests.
var testBuild = [32]byte{1, 2, 3}

// What iterator helpers, set operations and atomics looked at is freed when
// the program lets go of it. A count that only grows wraps in the end.
// want: []
const kept = [];
const watch = (name, f) => {
  const refs = [];
  (() => {
    const make = () => { const o = { name }; refs.push(new WeakRef(o)); return o; };
    try { f(make); } catch {}
  })();
  kept.push([name, refs]);
};
const list = make => [make(), make(), make()];
watch('find', make => list(make).values().find(() => false));
watch('filter', make => list(make).values().filter(() => false).toArray());
watch('filter that throws', make => list(make).values().filter(() => { throw 1; }).toArray());
watch('map', make => list(make).values().map(x => x).toArray());
watch('flatMap', make => list(make).values().flatMap(x => [x, x]).take(2).toArray());
watch('take and drop', make => list(make).values().drop(1).take(1).toArray());
watch('reduce', make => list(make).values().reduce((a, b) => b));
watch('some', make => list(make).values().some(() => false));
watch('union', make => new Set(list(make)).union(new Set(list(make))));
watch('intersection', make => { const s = new Set(list(make)); s.intersection(new Set([...s, 1, 2, 3, 4])); });
watch('intersection of a larger set', make => { const s = new Set([...list(make), 1, 2, 3]); s.intersection(new Set([...s].slice(0, 2))); });
watch('difference', make => new Set(list(make)).difference(new Set([1, 2, 3, 4, 5])));
watch('difference of a larger set', make => new Set([...list(make), 1, 2, 3]).difference(new Set([1])));
watch('symmetricDifference', make => new Set(list(make)).symmetricDifference(new Set(list(make))));
watch('groupBy', make => Map.groupBy(list(make), x => x));
watch('sort', make => list(make).sort(() => { throw 1; }));
watch('toSorted', make => list(make).toSorted((a, b) => 0));
watch('with', make => list(make).with(0, make()));
watch('proxy', make => Reflect.ownKeys(new Proxy(make(), { ownKeys: () => [make()] })));
watch('destructuring', make => { const [a, , ...b] = list(make); return a; });
watch('generator', make => { const g = (function* () { yield* list(make); })(); g.next(); g.return(make()); });
watch('replace', make => 'aaa'.replace(/a/g, () => { throw make(); }));
watch('stringify', make => JSON.stringify(list(make), (k, v) => { if (k === '2') throw make(); return v; }));
watch('parse', make => JSON.parse('[1,2,3]', () => { throw make(); }));
watch('spread', make => Math.max(...list(make)));
watch('class field', make => { class A { x = make(); y = (() => { throw make(); })(); } new A(); });
watch('typed array', make => new Uint8Array(list(make)));
watch('fromAsync', make => { Array.fromAsync(list(make)); });
watch('race', make => { Promise.race(list(make)); });
watch('any', make => { Promise.any(list(make)).catch(() => {}); });
watch('groups', make => Object.groupBy(list(make), () => { throw make(); }));
await tools.call('turn');
for (let i = 0; i < 50; i++) await null;
await tools.call('turn');
for (let i = 0; i < 3; i++) collect();
return kept.filter(([, refs]) => refs.some(r => r.deref() !== undefined)).map(([name]) => name);

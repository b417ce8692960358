// A suspended generator that only a closure over one of its variables reaches
// stays alive and can go on.
// want: [1,"two",true]
let leaked;
(() => {
  let g;
  const make = function* () {
    const o = { n: 1, g };
    leaked = () => o;
    yield;
    yield 'two';
  };
  g = make();
  g.next();
  // The first run saw no generator yet; give it the cycle now.
  leaked().g = g;
  g = null;
})();
collect();
const later = refill();
await tools.call('turn');
collect();
const o = leaked();
const two = o.g.next().value;
const end = o.g.next().done;
leaked = null;
o.g = null;
collect();
return [o.n, two, end && later.length === 3000];

// A suspended async generator that only a closure over one of its variables
// reaches stays alive and can go on.
// want: [1,"two",true]
let leaked;
await (async () => {
  const make = async function* () {
    const o = { n: 1 };
    leaked = () => o;
    yield;
    o.n++;
    yield 'two';
  };
  const g = make();
  await g.next();
  leaked().g = g;
})();
collect();
const later = refill();
await tools.call('turn');
collect();
const o = leaked(), n = o.n;
const two = (await o.g.next()).value;
await tools.call('turn');
collect();
const end = (await o.g.next()).done;
return [n, two, end && later.length === 3000];

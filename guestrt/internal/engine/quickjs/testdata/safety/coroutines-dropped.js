// Suspended coroutines in cycles with closures over their own variables are
// freed when nothing outside reaches them, while others go on.
// want: [200,"300 300"]
const registry = [];
let going = 0, closed = 0;
const resume = [];
const step = async (kept, i) => {
  const gate = Promise.withResolvers(), own = { i };
  own.read = () => [gate, own, kept];
  if (kept) resume.push(gate.resolve);
  else registry.push(new WeakRef(own));
  try {
    await gate.promise;
    going += own.read()[1].i === i;
  } finally {
    closed++;
  }
};
for (let i = 0; i < 500; i++) step(i >= 200, i);
collect();
await tools.call('turn');
collect();
const gone = registry.filter(r => r.deref() === undefined).length;
for (const f of resume) f();
await tools.call('turn');
collect();
return [gone, going + ' ' + closed];

// A suspended async function that is reached only through its own arguments
// object stays alive.
// want: [123,"b",124]
let leaked;
const AsyncFunction = (async () => {}).constructor;
const step = AsyncFunction('a', 'keep', `
  keep(() => arguments, v => { a = v; });
  const gate = Promise.withResolvers();
  gate.own = gate;
  await gate.promise;
`);
step(123, (read, write) => { leaked = { read, write }; });
collect();
const later = refill();
await tools.call('turn');
collect();
const args = leaked.read();
const first = args[0];
leaked.write(124);
const after = leaked.read()[0];
leaked = undefined;
collect();
return [first, typeof args[1] === 'function' && later.length === 3000 ? 'b' : 'lost', after];

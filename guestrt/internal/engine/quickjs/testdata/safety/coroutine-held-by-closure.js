// A suspended async function that only a closure over one of its variables
// reaches stays alive, and what the closure sees stays what it was.
// want: ["function","resumed kept"]
let leaked, ended;
(() => {
  const step = async () => {
    const gate = Promise.withResolvers();
    const word = { text: 'kept' };
    leaked = () => ({ gate, word });
    await gate.promise;
    ended = 'resumed ' + word.text;
  };
  step();
})();
collect();
const later = refill();
await tools.call('turn');
collect();
const kind = typeof leaked().gate.resolve;
leaked().gate.resolve();
await tools.call('turn');
await null;
if (later.length !== 3000) throw new Error('lost');
return [kind, ended];

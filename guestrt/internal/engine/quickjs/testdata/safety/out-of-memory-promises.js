// Promises, async functions and async generators whose parts cannot all be
// allocated fail as a whole, and free each part once.
// parts: 12
// want: "done"
const AsyncGen = async function* (x) { const y = yield x; await y; return y; };
const thenable = { then(f) { f(1); } };
const tries = [
  () => { new Promise(() => {}); },
  () => { Promise.withResolvers(); },
  () => { Promise.resolve(thenable); },
  () => { (async () => { await 1; })().catch(() => {}); },
  () => { (async () => { await thenable; await 2; throw 3; })().catch(() => {}); },
  () => { const g = AsyncGen({}); g.next().catch(() => {}); g.next(1).catch(() => {}); g.return(thenable).catch(() => {}); },
  () => { (async () => { for await (const x of AsyncGen(1)) await x; })().catch(() => {}); },
  () => { Promise.all([thenable, 1, new Promise(() => {})]).catch(() => {}); },
  () => { Promise.any([Promise.reject(1)]).catch(() => {}); },
  () => { Promise.reject(1).finally(() => {}).catch(() => {}); },
  () => { Promise.try(() => { throw 1; }).catch(() => {}); },
  () => { Array.fromAsync([thenable, 1]).catch(() => {}); },
];
for (let room = from; room < 1400; room += roomStep) {
  await null;
  within(room, tries[part]);
}
collect();
await tools.call('turn');
collect();
return refill().length === 3000 && await (async () => 'done')();

// Errors whose stack or call sites cannot all be allocated free each part once.
// parts: 24
// want: "done"
const deep = n => n ? deep(n - 1) : new Error('deep');
const named = function () { missing; };
Object.defineProperty(named, 'name', { value: 'x'.repeat(900) });
const tries = [
  () => deep(3),
  () => { null.x; },
  () => { named(); },
  () => { new AggregateError([deep(2)], 'all', { cause: deep(1) }); },
  () => { Error.captureStackTrace({}); },
  () => { eval('let x = ;'); },
  () => { new Function('a', 'return a +'); },
  () => { throw new DOMException('a', 'b'); },
];
Error.prepareStackTrace = [undefined, (e, frames) => frames, (e, frames) => frames.map(f => [f.getFunctionName(), f.getFileName()])][part % 3];
for (let room = from; room < 2100; room += roomStep) within(room, tries[part / 3 | 0]);
collect();
delete Error.prepareStackTrace;
await tools.call('turn');
collect();
return refill().length === 3000 ? 'done' : 'lost';

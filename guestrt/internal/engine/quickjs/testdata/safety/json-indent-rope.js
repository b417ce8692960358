// JSON.stringify cuts its third argument to ten characters also when the engine
// holds that string in pieces, or does not indent at all.
// want: [true,true]
let rope = '';
for (let i = 0; i < 4000; i++) rope += 'ab-' + i;
const wide = 'é'.repeat(9000) + '字'.repeat(9000);
await tools.call('turn');
const lines = s => JSON.stringify([1], null, s).split('\n')[1];
const right = (s, want) => lines(s) === undefined || lines(s) === want;
return [right(rope, 'ab-0ab-1ab1'), right(wide, 'é'.repeat(10) + '1')];

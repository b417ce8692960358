// An array is cut by its length, made long again, and pushed to. What was cut
// off must not come back.
// want: [6,true,false,false,"f"]
const arrays = [];
for (let i = 0; i < 50; i++) {
  const a = [{ v: 'a' }, { v: 'b' }, { v: 'c' }, { v: 'd' }, { v: 'e' }];
  a.length = 2;
  a.length = 5;
  a.push({ v: 'f' });
  arrays.push(a);
}
const later = refill();
collect();
await tools.call('turn');
const seen = [];
for (const a of arrays) {
  seen.push(JSON.stringify([a.length, 1 in a, 2 in a, 4 in a, a[5].v]));
  for (let i = 2; i < 5; i++) if (a[i] !== undefined) throw new Error('a[' + i + '] is back');
}
if (later.length !== 3000) throw new Error('lost');
if (new Set(seen).size !== 1) throw new Error('they differ: ' + seen);
return JSON.parse(seen[0]);

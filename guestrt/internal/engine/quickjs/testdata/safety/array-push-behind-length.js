// A push to an array whose length is larger than what it holds leaves a hole,
// and no element that was never written.
// want: [246,0,2,false,false,[9,null,null,7,8]]
const all = [];
for (let i = 0; i < 40; i++) {
  const a = [0];
  a.length = 245;
  a.push(2);
  all.push(a);
}
const later = refill();
collect();
await tools.call('turn');
collect();
const holes = [9];
holes.length = 3;
holes.push(7, 8);
for (const a of all) for (let i = 1; i < 245; i++) if (a[i] !== undefined) throw new Error('a[' + i + '] is ' + typeof a[i]);
const a = all[39];
all.length = 0;
collect();
return [a.length, a[0], a[245], 1 in a, 244 in a && later.length > 0, holes];

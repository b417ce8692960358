// Pushes to arrays whose length is near the largest one an array can have
// either work or throw, and write nothing outside of the array.
// want: ["ok","ok","ok","ok","ok"]
const results = [];
for (const length of [0x3fffffff, 0x7ffffffe, 0x7fffffff, 0xfffffffe, 0xffffffff]) {
  const a = [1, 2, 3];
  a.length = length;
  try {
    const n = a.push(4);
    results.push(n === length + 1 && a[length] === 4 && a[2] === 3 ? 'ok' : 'wrong ' + n);
  } catch (e) {
    results.push(e instanceof RangeError || e instanceof TypeError || e instanceof InternalError ? 'ok' : String(e));
  }
}
const later = refill();
collect();
await tools.call('turn');
return later.length === 3000 ? results : 'lost';

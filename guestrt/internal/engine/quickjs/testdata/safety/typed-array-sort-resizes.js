// A comparison that shrinks, grows or detaches the buffer being sorted does not
// make the sort write outside of it.
// want: ["ok","ok","ok"]
const out = [];
for (const spoil of [b => b.resize(8), b => b.resize(65536), b => b.transfer()]) {
  const b = new ArrayBuffer(4096, { maxByteLength: 65536 });
  const v = new Float64Array(b);
  for (let i = 0; i < v.length; i++) v[i] = -i;
  let once = true;
  try {
    v.sort((x, y) => { if (once) { once = false; spoil(b); collect(); refill(); } return x - y; });
    out.push('ok');
  } catch (e) {
    out.push(e instanceof TypeError || e instanceof RangeError ? 'ok' : String(e));
  }
  await tools.call('turn');
}
collect();
return out;

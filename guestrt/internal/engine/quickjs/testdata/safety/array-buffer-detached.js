// A buffer that was transferred or resized is freed once, and views on it see
// nothing of what takes its place.
// want: [0,4096,true,"TypeError"]
const kept = [];
let views = 0, name = '';
for (let i = 0; i < 200; i++) {
  const b = new ArrayBuffer(4096, { maxByteLength: 8192 });
  const v = new Uint8Array(b);
  v[0] = i;
  const moved = b.transfer();
  kept.push(moved);
  views += v.length;
  try { b.resize(10); } catch (e) { name = e.name; }
}
collect();
const later = refill();
await tools.call('turn');
const intact = kept.every((b, i) => new Uint8Array(b)[0] === (i & 255));
const size = kept[0].byteLength;
kept.length = 0;
collect();
return [views, size, intact && later.length === 3000, name];

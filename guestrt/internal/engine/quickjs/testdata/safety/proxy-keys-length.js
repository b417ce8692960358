// The list that an ownKeys trap returns may say that it is as long as it
// likes: the engine reads no more than there is and keeps to its memory.
// want: ["error","error","error","error",["a","b"]]
const out = [];
for (const length of [0x20000000, 0x40000000, 0xfffffffe, 0xffffffff]) {
  const p = new Proxy({}, { ownKeys: () => ({ length }) });
  out.push(within(1 << 30, () => Object.keys(p)) instanceof Error ? 'error' : 'none');
}
const p = new Proxy({}, {
  ownKeys() {
    const list = ['a', 'b'];
    collect();
    return new Proxy(list, { get: (t, k) => { refill(); return t[k]; } });
  },
});
await tools.call('turn');
out.push(Reflect.ownKeys(p));
return out;

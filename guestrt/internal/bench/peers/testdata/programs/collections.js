const byKey = new Map();
const seen = new Set();
let seed = 7;
const list = [];
for (let i = 0; i < 40000; i++) {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  const key = "k" + (seed % 5000);
  byKey.set(key, (byKey.get(key) ?? 0) + 1);
  seen.add(seed % 9973);
  list.push(seed % 100000);
}
list.sort((a, b) => a - b);
let sum = 0;
for (const [key, n] of byKey) sum += key.length * n;
return sum + seen.size + list[20000];

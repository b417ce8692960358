let count = 0;
const sieve = new Uint8Array(400000);
for (let i = 2; i < sieve.length; i++) {
  if (sieve[i]) continue;
  count++;
  for (let k = i * 2; k < sieve.length; k += i) sieve[k] = 1;
}
let x = count;
for (let i = 0; i < 1000000; i++) x = (x * 31 + i) | 0;
return x;

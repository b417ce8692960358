const step = async (n) => n + 1;
let n = 0;
for (let i = 0; i < 20000; i++) n = await step(n);
const parts = await Promise.all(Array.from({ length: 5000 }, async (_, i) => (await step(i)) * 2));
return n + parts.reduce((a, b) => a + b, 0);

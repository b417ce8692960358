const ack = (m, n) => (m === 0 ? n + 1 : n === 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)));
let sum = 0;
for (let i = 0; i < 4; i++) sum += ack(2, 150);
return sum;

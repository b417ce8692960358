let text = "";
for (let i = 0; i < 4000; i++) text += "2026-11-" + String((i % 28) + 1).padStart(2, "0") + " service" + (i % 13) + " took " + i + " ms; ";
let sum = 0;
for (const m of text.matchAll(/(\d{4})-(\d\d)-(\d\d) (\w+) took (\d+) ms/g)) sum += +m[5] + m[4].length;
const words = text.split(" ").map((w) => w.toUpperCase()).filter((w) => w.includes("SERVICE"));
return sum + words.join(",").replace(/E(R)/g, "$1e").length;

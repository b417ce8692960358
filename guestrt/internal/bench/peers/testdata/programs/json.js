const rows = [];
for (let i = 0; i < 2000; i++) {
  rows.push({ id: i, title: "Issue number " + i, labels: ["bug", "area/" + (i % 7)], open: i % 3 === 0, score: i / 8, author: { name: "user" + (i % 50), admin: false } });
}
let n = 0;
for (let i = 0; i < 6; i++) {
  const text = JSON.stringify(rows);
  n += text.length + JSON.parse(text).length;
}
return n;

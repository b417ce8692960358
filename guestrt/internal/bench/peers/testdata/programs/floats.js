let inside = 0;
for (let py = 0; py < 120; py++) {
  for (let px = 0; px < 120; px++) {
    const cx = px / 60 - 1.5, cy = py / 60 - 1;
    let x = 0, y = 0, n = 0;
    while (n < 60 && x * x + y * y < 4) {
      const t = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = t;
      n++;
    }
    if (n === 60) inside++;
  }
}
return inside;

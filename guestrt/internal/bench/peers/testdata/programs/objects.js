class Shape {
  #name;
  constructor(name) { this.#name = name; }
  get name() { return this.#name; }
  area() { return 0; }
}
class Rect extends Shape {
  constructor({ w, h = 2, ...rest }) { super(rest.name ?? "rect"); Object.assign(this, { w, h }); }
  area() { return this.w * this.h; }
}
let sum = 0;
for (let i = 0; i < 30000; i++) {
  const r = new Rect({ w: i % 10, name: i % 2 ? "odd" : "even" });
  const { w, ...others } = { ...r, extra: i };
  const [a, , b = 1, ...tail] = [w, i, undefined, 4, 5];
  sum += r.area() + a + b + tail.length + r.name.length + Object.keys(others).length;
}
return sum;

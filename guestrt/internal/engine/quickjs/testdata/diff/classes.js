//// fields, accessors, statics
class A { x = 1; ['y' + 1] = this.x + 1; static s = 'st'; static { this.t = this.s + '!'; } get z() { return this.x * 10; } set z(v) { this.x = v; } static m() { return this.s; } } const a = new A; a.z = 5; return [a.x, a.y1, a.z, A.s, A.t, A.m(), Object.keys(a)];
//// private members
class C { #n = 0; static #made = 0; #inc() { return ++this.#n; } get #twice() { return this.#n * 2; } run() { this.#inc(); this.#inc(); C.#made++; return [this.#n, this.#twice, #n in this, #n in {}]; } static made() { return C.#made; } } return [new C().run(), new C().run(), C.made()];
//// private errors
class C { #x = 1; static get(o) { return o.#x; } static set(o) { o.#x = 2; } #m() { } over() { this.#m = 1; } } return [() => C.get({}), () => C.set({}), () => new C().over()].map(f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } });
//// inheritance and super
class A { constructor(x) { this.x = x; } hi() { return 'A' + this.x; } static s() { return 'sA'; } get p() { return 'pA'; } } class B extends A { constructor() { super(5); } hi() { return super.hi() + 'B'; } static s() { return super.s() + 'B'; } get p() { return super.p + 'B'; } } const b = new B; return [b.hi(), B.s(), b.p, b instanceof A, Object.getPrototypeOf(B) === A, B.name, B.length];
//// new.target
function F() { return new.target === F; } class A { constructor() { this.t = new.target.name; } } class B extends A { } return [new B().t, typeof new F, (function () { return new.target; })()];
//// extends builtins
class L extends Array { sum() { return this.reduce((a, b) => a + b, 0); } } const l = L.from([1, 2, 3]); return [l.sum(), l.map(x => x * 2) instanceof L, l.length, l.filter(x => x > 1).sum(), new (class extends Map { get(k) { return super.get(k) ?? 'd'; } })([[1, 2]]).get(9)];
//// extends null and expressions
class N extends null { static x = 1; } const mix = B => class extends B { m() { return 'mixed'; } }; class D extends mix(Object) { } return [N.x, Object.getPrototypeOf(N.prototype), new D().m()];
//// symbols as methods
class S { static [Symbol.hasInstance](x) { return x === 1; } get [Symbol.toStringTag]() { return 'Tag'; } [Symbol.toPrimitive](h) { return h; } } return [1 instanceof S, 2 instanceof S, String(Object.prototype.toString.call(new S)), `${new S}`, +new S, new S + ''];
//// accessors on prototypes
const o = { get a() { return this._a ?? 'none'; }, set a(v) { this._a = v; } }, c = Object.create(o); c.a = 1; return [c.a, o.a, Object.hasOwn(c, 'a'), Object.getOwnPropertyNames(c)];
//// evaluation order
const log = []; const k = n => (log.push(n), n); class A { static [k('a')] = log.push('fa'); [k('b')] = log.push('fb'); static { log.push('block'); } [k('c')]() { } } new A; return log;
//// toString and names
class Foo { bar() { return 1; } } const anon = class { }; return [Foo.toString(), Foo.prototype.bar.name, anon.name, (class { static name = 'n' }).name, (() => { }).name, Object.getOwnPropertyDescriptor(class { get a() { } }.prototype, 'a').get.name];
//// super in object literals
const a = { f() { return 'a'; } }, b = { __proto__: a, f() { return super.f() + 'b'; } }; return b.f();
//// derived constructor rules
class A { } return [() => new (class extends A { constructor() { } }), () => new (class extends A { constructor() { return {}; } }) instanceof A, () => new (class extends A { constructor() { super(); super(); } }), () => new (class extends A { constructor() { return 1; } })].map(f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } });

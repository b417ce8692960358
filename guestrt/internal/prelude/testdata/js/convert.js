// What a returned value looks like outside.

//// table primitives
1 //=> 1
-0 //=> 0
1e21 //=> 1e+21
0.1 + 0.2 //=> 0.30000000000000004
NaN //=> null
Infinity //=> null
-Infinity //=> null
true //=> true
null //=> null
undefined //=> null
() => 1 //=> null
class A {} //=> null
Symbol("s") //=> null
10n //=> "10"
-123456789012345678901234567890n //=> "-123456789012345678901234567890"
"" //=> ""
"a\"b\\c\n\u0001" //=> "a\"b\\c\n\u0001"
"é€😀" //=> "é€😀"
"\ud83d" //=> "\ud83d"
"\ude00x" //=> "\ude00x"
Object(Symbol("s")) //=> null

//// table objects
{} //=> {}
({a: 1, b: "x"}) //=> {"a":1,"b":"x"}
({a: undefined, b: () => 1, c: Symbol("c"), d: 1}) //=> {"d":1}
({a: NaN, b: null, c: 5n}) //=> {"a":null,"b":null,"c":"5"}
({2: "b", 1: "a", z: 0}) //=> {"1":"a","2":"b","z":0}
({[Symbol("k")]: 1, k: 2}) //=> {"k":2}
Object.create(null, {a: {value: 1, enumerable: true}, b: {value: 2}}) //=> {"a":1}
JSON.parse('{"__proto__": 1}') //=> {"__proto__":1}
Object.create({inherited: 1}) //=> {}
new (class P { x = 1; #y = 2; get z() { return 3 } }) //=> {"x":1}
({get a() { return [1] }}) //=> {"a":[1]}
(function () { return arguments })(1, 2) //=> {"0":1,"1":2}
Promise.resolve(4) //=> 4
({p: Promise.resolve(4)}) //=> {"p":"[Unawaited Promise: use await or Promise.all]"}
[tools.search("x"), (async () => 1)()] //=> ["[Unawaited Promise: use await or Promise.all]","[Unawaited Promise: use await or Promise.all]"]
new Map([["k", Promise.resolve(1)]]) //=> [["k","[Unawaited Promise: use await or Promise.all]"]]
new Set([Promise.resolve(1)]) //=> ["[Unawaited Promise: use await or Promise.all]"]
[Object.assign(Promise.resolve(1), {toJSON: () => 7})] //=> [7]
[{then: 1}] //=> [{"then":1}]
new WeakMap() //=> {}
({"a\nb": 1, "é": 2, "": 3}) //=> {"a\nb":1,"é":2,"":3}

//// table arrays
[] //=> []
[1, [2, [3]]] //=> [1,[2,[3]]]
[undefined, () => 1, Symbol("x"), NaN] //=> [null,null,null,null]
[1, , 3] //=> [1,null,3]
new Array(3) //=> [null,null,null]
Object.assign([1], {extra: 2}) //=> [1]
new (class L extends Array {})(1, 2) //=> [1,2]
Array.from({length: 3}, (_, i) => i) //=> [0,1,2]

//// table boxed
new Number(5) //=> 5
new Number(NaN) //=> null
new String("s") //=> "s"
new Boolean(false) //=> false
Object(7n) //=> "7"
[new String("a"), {n: new Number(1)}] //=> ["a",{"n":1}]
Object.assign(new Number(1), {valueOf() { return 2 }}) //=> 1

//// table dates
new Date(0) //=> "1970-01-01T00:00:00.000Z"
new Date(NaN) //=> null
({at: new Date(1e12)}) //=> {"at":"2001-09-09T01:46:40.000Z"}
Object.assign(new Date(0), {toJSON: null}) //=> "1970-01-01T00:00:00.000Z"
Object.create(Date.prototype, {toJSON: {value: undefined}}) //=> {}

//// table collections
new Map([[1, "a"], ["k", {x: 1}]]) //=> [[1,"a"],["k",{"x":1}]]
new Map([[undefined, () => 1]]) //=> [[null,null]]
new Set([1, undefined, "x", [2]]) //=> [1,null,"x",[2]]
new (class M extends Map {})([[1, 2]]) //=> [[1,2]]
({m: new Map(), s: new Set()}) //=> {"m":[],"s":[]}
Object.setPrototypeOf({a: 1}, Map.prototype) //=> {"a":1}
Object.setPrototypeOf({a: 1}, Set.prototype) //=> {"a":1}

//// table binary data
new Uint8Array([1, 2, 255]) //=> [1,2,255]
new Float64Array([0.5, NaN, Infinity, -0]) //=> [0.5,null,null,0]
new Float32Array([1.5]) //=> [1.5]
new Float16Array([1.5]) //=> [1.5]
new Int8Array([-1]) //=> [-1]
new Uint8ClampedArray([300]) //=> [255]
new BigInt64Array([1n, -5n]) //=> ["1","-5"]
new BigUint64Array([18446744073709551615n]) //=> ["18446744073709551615"]
new Uint8Array([1, 2, 3]).buffer //=> [1,2,3]
new ArrayBuffer(0) //=> []
new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2) //=> [2,3]
({b: new Uint8Array(2), n: 1}) //=> {"b":[0,0],"n":1}
Object.setPrototypeOf({a: 1}, Uint8Array.prototype) //=> {"a":1}
Object.setPrototypeOf({a: 1}, ArrayBuffer.prototype) //=> {"a":1}

//// table errors
new Error("m") //=> {"name":"Error","message":"m"}
new TypeError("t") //=> {"name":"TypeError","message":"t"}
new (class Mine extends Error { name = "Mine"; extra = 1 })("x") //=> {"name":"Mine","message":"x"}
[new RangeError("r")] //=> [{"name":"RangeError","message":"r"}]
Object.assign(new Error("m"), {code: "c"}) //=> {"name":"Error","message":"m"}
Object.assign(new Error("m"), {name: 5, message: {}}) //=> {"name":"Error","message":""}
Object.assign(new Error("m"), {toJSON() { return "own" }}) //=> "own"

//// table regular expressions
/a.b/gi //=> "/a.b/gi"
[/x/] //=> ["/x/"]
Object.setPrototypeOf({a: 1}, RegExp.prototype) //=> {"a":1}

//// table toJSON
({toJSON() { return {a: 1} }}) //=> {"a":1}
({toJSON: () => undefined}) //=> null
({k: {toJSON: () => undefined}, l: 1}) //=> {"l":1}
[{toJSON: () => undefined}] //=> [null]
({k: {toJSON(key) { return key }}}) //=> {"k":"k"}
[0, {toJSON(key) { return key + typeof key }}] //=> [0,"1string"]
({toJSON(key) { return "<" + key + ">" }}) //=> "<>"
new (class C { toJSON() { return "class" } }) //=> "class"
new (class D extends (class { toJSON() { return "base" } }) {}) //=> "base"
({toJSON() { return {toJSON() { return 1 }, x: 2} }}) //=> {"x":2}
({toJSON: 5, a: 1}) //=> {"toJSON":5,"a":1}
({toJSON() { return new Date(0) }}) //=> "1970-01-01T00:00:00.000Z"
new Map([["k", {toJSON() { return 9 }}]]) //=> [["k",9]]
(BigInt.prototype.toJSON = () => "patched", 5n) //=> "5"

//// table cycles
(() => { const a = {n: 1}; a.self = a; return a })() //=> {"n":1,"self":"[Circular]"}
(() => { const a = []; a.push([a]); return a })() //=> [["[Circular]"]]
(() => { const s = {x: 1}; return [s, s, {s}] })() //=> [{"x":1},{"x":1},{"s":{"x":1}}]
(() => { const m = new Map(); m.set("m", m); return m })() //=> [["m","[Circular]"]]
(() => { const a = {}; a.toJSON = () => ({inner: a}); return a })() //! Error: the value is nested more than 200 levels deep

//// table proxies
new Proxy({a: 1, b: 2}, {}) //=> {"a":1,"b":2}
new Proxy([1, 2], {}) //=> [1,2]
new Proxy({}, {ownKeys: () => ["x"], getOwnPropertyDescriptor: () => ({value: 1, enumerable: true, configurable: true}), get: (_, k) => k === "x" ? "trapped" : undefined}) //=> {"x":"trapped"}
new Proxy([], {get: (t, k) => k === "length" ? 2 : k === "0" ? "a" : undefined}) //=> ["a",null]
new Proxy(new Map([[1, 2]]), {}) //=> {}
(() => { const r = Proxy.revocable({}, {}); r.revoke(); return [r.proxy] })() //! TypeError: revoked proxy
(() => { const r = Proxy.revocable([], {}); r.revoke(); return {r: r.proxy} })() //! TypeError: revoked proxy

//// table failing conversions
({get a() { throw new TypeError("no a") }}) //! TypeError: no a
({toJSON() { throw new RangeError("no json") }}) //! RangeError: no json
({get a() { throw "bare" }}) //! bare
new Proxy({}, {ownKeys() { throw new Error("trap") }}) //! Error: trap
new Array(4294967295) //! Error: the value is too large: it has more than 1000000 parts
new Proxy([], {get: (t, k) => k === "length" ? 1e300 : 0}) //! Error: the value is too large: it has more than 1000000 parts
new Uint8Array(1000001) //! Error: the value is too large: it has more than 1000000 parts
new Proxy([], {get: (t, k) => k === "length" ? -5 : 0}) //=> []

//// depth at the limit
//: limits {"maxDepth": 3}
return [[[1]]]
//=> [[[1]]]

//// depth beyond the limit
//: limits {"maxDepth": 3}
return {a: [{b: []}]}
//! Error: the value is nested more than 3 levels deep
//kind value_limit

//// the default depth holds two hundred levels
let v = 1
for (let i = 0; i < 200; i++) v = [v]
json(v)
let caught = "none"
try { json([v]) } catch (e) { caught = e.message }
return caught
//=> "the value is nested more than 200 levels deep"

//// nodes at the limit
//: limits {"maxNodes": 5}
return [1, 2, {a: 3}]
//=> [1,2,{"a":3}]

//// nodes beyond the limit
//: limits {"maxNodes": 5}
return [1, 2, {a: 3, b: 4}]
//! Error: the value is too large: it has more than 5 parts
//kind value_limit

//// a map's pairs count
//: limits {"maxNodes": 4}
return new Map([[1, 2]])
//=> [[1,2]]

//// a map's pairs count beyond the limit
//: limits {"maxNodes": 3}
return new Map([[1, 2]])
//! Error: the value is too large: it has more than 3 parts

//// bytes at the limit
//: limits {"maxValueBytes": 10}
return "12345678"
//=> "12345678"

//// bytes beyond the limit
//: limits {"maxValueBytes": 10}
return "123456789"
//! Error: the value is too large: its JSON has more than 10 bytes
//kind value_limit

//// bytes are those of UTF-8
//: limits {"maxValueBytes": 10}
return "€€€"
//! Error: the value is too large: its JSON has more than 10 bytes

//// bytes of UTF-8 at the limit
//: limits {"maxValueBytes": 11}
return "€€€"
//=> "€€€"

//// a surrogate pair across a measuring chunk
//: limits {"maxValueBytes": 65600}
return ("x".repeat(16382) + "😀").repeat(4).length
//=> 65536

//// bytes of pairs across measuring chunks
//: limits {"maxValueBytes": 70000}
const s = ("x".repeat(16382) + "😀").repeat(4)
json(s)
return s.length
//=> 65536

//// an array that grows while it is read
const a = [{get x() { a.push(1); return 1 }}]
return a
//=> [{"x":1}]

//// a map that grows while it is read hits the cap
//: limits {"maxNodes": 100}
let n = 0
const m = new Map()
m.set(n, {get x() { m.set(++n, m.get(0)); return n }})
const grow = {get x() { m.set(++n, grow); return n }}
m.set("g", grow)
return m
//! Error: the value is too large: it has more than 100 parts

//// a getter runs once
let reads = 0
const o = {get a() { return ++reads }}
const j = await tools.call("echo", o)
return [j, reads]
//=> [{"a":1},1]

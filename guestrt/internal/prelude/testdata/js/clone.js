// structuredClone.

//// table plain data
structuredClone(5) //=> 5
structuredClone(undefined) === undefined //=> true
structuredClone(10n) === 10n //=> true
structuredClone({a: [1, {b: null}], c: "x"}) //=> {"a":[1,{"b":null}],"c":"x"}
Object.keys(structuredClone([1, , 3])) //=> ["0","2"]
structuredClone([1, , 3]).length //=> 3
structuredClone(Object.assign([1], {x: 2})).x //=> 2
structuredClone(Object.create({inherited: 1}, {own: {value: 2, enumerable: true}, hidden: {value: 3}})) //=> {"own":2}
Object.getPrototypeOf(structuredClone(new (class K { a = 1 })())) === Object.prototype //=> true
structuredClone(new Date(5)).getTime() //=> 5
isNaN(structuredClone(new Date(NaN))) //=> true
String(structuredClone(/a+/giu)) //=> "/a+/giu"
[...structuredClone(new Map([[{k: 1}, new Set([1, "a"])]]))].map(([k, v]) => [k, [...v]]) //=> [[{"k":1},[1,"a"]]]
[typeof structuredClone(Object("s")), structuredClone(Object(1)) + 1, structuredClone(Object(true)).valueOf()] //=> ["object",2,true]
[structuredClone(new Uint8Array([1, 2])), structuredClone(new Float64Array([0.5])).constructor.name, structuredClone(new BigInt64Array([1n]))] //=> [[1,2],"Float64Array",["1"]]
structuredClone(new Uint8Array([1, 2, 3]).subarray(1)).byteOffset //=> 1
structuredClone(new DataView(new Uint8Array([1, 2]).buffer, 1)).getUint8(0) //=> 2
structuredClone(new Uint8Array([7]).buffer) //=> [7]
structuredClone(new Proxy({a: 1}, {})) //=> {"a":1}
structuredClone(Object.create(Map.prototype)) //=> {}

//// table what refuses
structuredClone() //! TypeError: structuredClone expects a value
structuredClone(() => 1) //! DataCloneError: structuredClone: a function cannot be cloned
structuredClone({a: [Symbol()]}) //! DataCloneError: structuredClone: a symbol cannot be cloned
structuredClone(Object(Symbol())) //! DataCloneError: structuredClone: a symbol cannot be cloned
structuredClone(Promise.resolve()) //! DataCloneError: structuredClone: a Promise cannot be cloned
structuredClone(new WeakMap()) //! DataCloneError: structuredClone: a WeakMap cannot be cloned
structuredClone([1].values()) //! DataCloneError: structuredClone: a Array Iterator cannot be cloned
structuredClone(new URL("http://a/")) //! DataCloneError: structuredClone: a URL cannot be cloned
structuredClone(new AbortController().signal) //! DataCloneError: structuredClone: a AbortSignal cannot be cloned
structuredClone(tools.echo) //! DataCloneError: …
structuredClone({get a() { throw new RangeError("getter") }}) //! RangeError: getter
structuredClone(1, 5) //! TypeError: structuredClone expects its options as an object such as {transfer: [buffer]}, got number
structuredClone(1, {transfer: 5}) //! TypeError: structuredClone expects transfer as a list of buffers, got number
structuredClone(1, {transfer: [{}]}) //! DataCloneError: structuredClone: only an ArrayBuffer that is not detached can be transferred

//// shared references and cycles
const shared = {n: 1}, o = {a: shared, b: shared, m: new Map()}
o.self = o; o.m.set(o, o); shared.list = [shared]
const c = structuredClone(o)
return [c !== o, c.a === c.b, c.a !== shared, c.self === c, c.m.get(c) === c, c.a.list[0] === c.a]
//=> [true,true,true,true,true,true]

//// views share their buffer's copy
const b = new ArrayBuffer(4), c = structuredClone({b, x: new Uint8Array(b), y: new Uint16Array(b)})
c.x[0] = 5
return [c.x.buffer === c.b, c.y[0], new Uint8Array(b)[0]]
//=> [true,5,0]

//// errors keep kind, message, stack and cause
class Custom extends TypeError { get name() { return "Custom" } }
const e = new RangeError("far", {cause: {why: [1]}}); e.extra = 1
const c = structuredClone(e), d = structuredClone(new Custom("own"))
return [c instanceof RangeError, c.message, c.stack === e.stack, c.cause, "extra" in c, d.constructor === Error, d.message]
//=> [true,"far",true,{"why":[1]},false,true,"own"]

//// transfer detaches the original
const b = new Uint8Array([1, 2]).buffer, c = structuredClone({b, v: new Uint8Array(b, 1)}, {transfer: [b]})
let twice
try { structuredClone(b, {transfer: [b]}) } catch (e) { twice = e.name }
return [b.byteLength, c.b.byteLength, c.v[0], c.v.buffer === c.b, twice]
//=> [0,2,2,true,"DataCloneError"]

//// nothing is transferred when the copy fails, and nothing twice
const b = new ArrayBuffer(2), names = []
for (const f of [() => structuredClone(() => 1, {transfer: [b]}), () => structuredClone(1, {transfer: [b, b]})]) try { f() } catch (e) { names.push(e.name) }
return [names, b.byteLength]
//=> [["DataCloneError","DataCloneError"],2]

//// depth ends in an error that can be caught
let o = {}
for (let i = 0; i < 100000; i++) o = {o}
try { structuredClone(o); return "cloned" } catch (e) { return e instanceof Error }
//=> true

//// patched built-ins change nothing
const map = new Map([[1, 2]])
Map.prototype.get = () => "forged"; Map.prototype.set = Set.prototype.add = () => {}; Object.keys = () => []
Array.isArray = () => false; Object.defineProperty(Object.prototype, "a", {set() { throw new Error("setter") }, configurable: true})
Date.prototype.getTime = () => 0
return [structuredClone({a: [1]}), structuredClone(map), structuredClone(new Date(9))]
//=> [{"a":[1]},[[1,2]],"1970-01-01T00:00:00.009Z"]

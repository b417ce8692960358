// A guest that patches the built-ins breaks its own results at most.

//// JSON
JSON.stringify = () => '"forged"'; JSON.parse = () => "forged"
text("t"); json({a: 1})
return [await tools.call("echo", {a: [1]}), ALL_TOOLS.length, await Issues.list("x")]
//=> [{"a":[1]},2,{"args":["x"],"ns":"issues","path":["list"]}]
//out ["text", "t"]
//out ["json", {"a": 1}]

//// JSON replaced
globalThis.JSON = null
return [await tools.call("echo", "a"), typeof tools.echo]
//=> ["a","function"]

//// Promise and its prototype
globalThis.Promise = class { constructor() { throw new Error("forged") } }
const P = (async () => {})().constructor
P.prototype.then = function () { throw new Error("forged then") }
P.prototype.catch = P.prototype.finally = P.prototype.then
P.resolve = P.reject = P.all = () => "forged"
Object.defineProperty(P, Symbol.species, {get() { throw new Error("species") }})
text(typeof tools.call("echo", 1)); text(tools.search("x").constructor === P)
setTimeout(() => text("timer"), 0); queueMicrotask(() => text("micro"))
return "done"
//=> "done"
//out ["text", "object"]
//out ["text", "true"]
//out ["text", "micro"]
//out ["text", "timer"]
//req ["call", "echo", 1]
//req ["search", "x", {}]

//// the constructor of promises
Object.defineProperty(Promise.prototype, "constructor", {get() { throw new Error("constructor") }, configurable: true})
queueMicrotask(() => text("micro"))
tools.call("echo", 1)
return "done"
//=> "done"
//out ["text", "micro"]

//// Object.prototype.then is the guest's own trouble
Object.prototype.then = function (resolve) { delete Object.prototype.then; resolve("hijacked") }
return await tools.call("echo", {a: 1})
//=> "hijacked"

//// a throwing Object.prototype.then getter rejects that call alone
Object.defineProperty(Object.prototype, "then", {get() { throw new Error("then getter") }, configurable: true})
const seen = []
const p = tools.call("raw", {JSON: '{"a":1}'}), q = tools.call("raw", {JSON: "5"})
try { await p } catch (e) { seen.push(e.message) }
seen.push(await q)
delete Object.prototype.then
return seen
//=> ["then getter",5]

//// a then getter that calls back into the bridge
let depth = 0
Object.defineProperty(Object.prototype, "then", {get() { if (depth++ < 3) tools.call("raw", {JSON: '{"n":1}'}); return undefined }, configurable: true})
await tools.call("raw", {JSON: '{"n":0}'})
for (let i = 0; i < 5; i++) await tools.call("raw", {JSON: "0"})
delete Object.prototype.then
return depth >= 3
//=> true

//// Object.prototype.toJSON does not forge plain data
Object.prototype.toJSON = function () { return "forged" }
Array.prototype.toJSON = function () { return "forged" }
json({a: [1, {b: 2}]})
return [await tools.call("echo", {x: 1}), await Issues.list([1]), new (class K {})(), new (class T { toJSON() { return "own" } })(), Object.create(null), new Date(0), new Map([[1, {}]])]
//=> [{"x":1},{"args":[[1]],"ns":"issues","path":["list"]},{},"own",{},"1970-01-01T00:00:00.000Z",[[1,{}]]]
//out ["json", {"a": [1, {"b": 2}]}]
//req ["call", "echo", {"x": 1}]
//req ["namespace", "issues", ["list"], [[1]]]

//// an accessor for toJSON on Object.prototype
Object.defineProperty(Object.prototype, "toJSON", {get() { throw new Error("getter") }, configurable: true})
return [await tools.call("echo", {x: 1}), [1]]
//=> [{"x":1},[1]]

//// patched toJSON of other classes are the guest's own
Date.prototype.toJSON = () => "patched"
return [new Date(0), await tools.call("echo", {d: new Date(0), e: 1})]
//=> ["patched",{"d":"patched","e":1}]

//// options come from own properties
Object.prototype.limit = 1; Object.prototype.code = "forged"; Object.prototype.message = "forged"; Object.prototype.toolId = "forged"
const r = [await tools.search("x", {}), await tools.search("x")]
let e
try { await tools.call("raw", {reject: true, JSON: '{"message":"m"}'}) } catch (x) { e = x }
return [r.map((x) => Object.keys(x.options)), Object.keys(e), Object.hasOwn(e, "toolId"), e.message]
//=> [[[],[]],[],false,"m"]

//// accessors for descriptor fields on Object.prototype
for (const k of ["get", "set", "value", "writable", "enumerable", "configurable"]) Object.defineProperty(Object.prototype, k, {__proto__: null, get() { throw new Error("descriptor " + k) }, set(v) {}, configurable: true})
const list = [typeof tools.web_search, Issues.version, ALL_TOOLS.length]
const p = tools.call("fail")
let code
try { await p } catch (e) { code = e.code }
text("t")
return [list, code, await tools.echo({a: 1})]
//=> [["function","1.2",2],"tool_error",{"a":1}]
//out ["text", "t"]

//// setters for the fields of the bridge's records
const hits = []
for (const k of ["resolve", "reject", "error", "id", "due", "every", "callback", "args", "before", "after", "round", "parts", "count", "units", "nodes", "depth", "active", "caps", "lenient", "reason", "kind", "entries", "items", "limits", "namespaces", "file", "__proto__"])
  Object.defineProperty(Object.prototype, k, {set(v) { hits.push(k) }, get() { hits.push("get " + k) }, configurable: true})
const r = [await tools.echo({a: [1]}), Issues.version]
json({b: 1}); console.log({c: 1})
await new Promise((r) => setTimeout(r, 0))
for (const k of Reflect.ownKeys(Object.prototype)) if (hits.includes(k) || hits.includes("get " + k)) text(k)
return [r, hits]
//=> [[{"a":[1]},"1.2"],[]]
//out ["json", {"b": 1}]
//out ["text", "{\"c\":1}"]

//// index setters on Array.prototype and Object.prototype
const hits = []
for (const proto of [Array.prototype, Object.prototype]) for (let i = 0; i < 40; i++)
  Object.defineProperty(proto, i, {set(v) { hits.push(v) }, get() { return "forged" }, configurable: true})
json([1, {a: 2}, new Map([[3, 4]]), new Set([5])]); console.log("x", [1]); text({a: [1]})
const r = await Promise.all([tools.echo([1, 2, 3]), Issues.list(1, {b: 2}, [3]), tools.call("echo", "y")])
const keys = Object.keys(tools)
return [r, keys.length, Issues.labels[0], namespaces.Issues.version, hits.length]
//=> [[[1,2,3],{"args":[1,{"b":2},[3]],"ns":"issues","path":["list"]},"y"],6,"bug","1.2",0]
//out ["json", [1, {"a": 2}, [[3, 4]], [5]]]
//out ["text", "x [1]"]
//out ["text", "{\"a\":[1]}"]

//// methods of Array.prototype
for (const k of Object.getOwnPropertyNames(Array.prototype)) if (typeof Array.prototype[k] === "function") Array.prototype[k] = () => { throw new Error("forged " + k) }
json([1, [2]]); console.log([1], 2)
return [await tools.echo([1]), await Issues.list(1)]
//=> [[1],{"args":[1],"ns":"issues","path":["list"]}]
//out ["json", [1, [2]]]
//out ["text", "[1] 2"]

//// iteration protocols
const boom = () => { throw new Error("forged iterator") }
Array.prototype[Symbol.iterator] = Map.prototype[Symbol.iterator] = Set.prototype[Symbol.iterator] = String.prototype[Symbol.iterator] = boom
Object.getPrototypeOf(new Map().entries()).next = Object.getPrototypeOf(new Set().values()).next = Object.getPrototypeOf([].values()).next = boom
Map.prototype.entries = Map.prototype.forEach = Set.prototype.values = Set.prototype.forEach = boom
const m = new Map(), s = new Set(); m.set(1, 2); s.add(3)
return [m, s, await tools.echo({m}), [1], new Uint8Array(2)]
//=> [[[1,2]],[3],{"m":[[1,2]]},[1],[0,0]]

//// methods of Map, Set and WeakSet
for (const P of [Map.prototype, Set.prototype, WeakSet.prototype, WeakMap.prototype]) for (const k of Object.getOwnPropertyNames(P)) Object.defineProperty(P, k, {get() { throw new Error("forged " + k) }, configurable: true})
json({a: {}}); const id = setTimeout(() => text("no"), 0); clearTimeout(id)
let message
try { await tools.call("fail") } catch (e) { message = e.message }
return [await tools.echo(1), message]
//=> [1,"it failed"]
//out ["json", {"a": {}}]

//// Function.prototype
for (const k of ["call", "apply", "bind", "toString"]) Function.prototype[k] = () => { throw new Error("forged " + k) }
json({d: new Date(0), m: new Map()}); console.log(new Error("x"))
setTimeout(() => text("timer"), 0)
const r = await tools.echo({f() {}, a: 1})
await new Promise((r) => setTimeout(r, 1))
return r
//=> {"a":1}
//out ["json", {"d": "1970-01-01T00:00:00.000Z", "m": []}]
//out ["text", "Error: x"]
//out ["text", "timer"]

//// Reflect and the functions of Object
for (const holder of [Reflect, Object]) for (const k of Object.getOwnPropertyNames(holder)) if (typeof holder[k] === "function") holder[k] = () => { throw new Error("forged " + k) }
json({a: 1}); const n = Issues.version
let code
try { await tools.call("fail") } catch (e) { code = e.code }
return [await tools.web_search({b: 1}), n, ALL_TOOLS[0].name, code, typeof tools.nope, "echo" in tools]
//=> [{"b":1},"1.2","echo","tool_error","undefined",true]

//// methods of String, RegExp, Number, Symbol, BigInt and Date
const boom = () => { throw new Error("forged") }
for (const C of [String, RegExp, Number, Boolean, Symbol, BigInt]) for (const k of [...Object.getOwnPropertyNames(C.prototype), Symbol.toPrimitive, Symbol.match, Symbol.replace, Symbol.split]) if (k !== "constructor") try { Object.defineProperty(C.prototype, k, {value: boom, configurable: true}) } catch {}
Date.now = boom; Date.prototype.getTime = boom; Math.floor = () => 0; globalThis.encodeURIComponent = globalThis.unescape = boom
text("é"); json(["€", 1.5, 10n, new Number(3), new String("s"), Object(4n)]); console.log("x", 1, 2n, Symbol.iterator === undefined)
const r = await tools.call("echo", "é")
await new Promise((r) => setTimeout(r, 1))
return [r, await tools.search("q", {limit: 2})]
//=> ["é",{"options":{"limit":2},"query":"q"}]
//out ["text", "é"]
//out ["json", ["€", 1.5, "10", 3, "s", "4"]]
//out ["text", "x 1 2 false"]

//// Error and its prototype
globalThis.Error = globalThis.TypeError = class { constructor() { return {forged: true} } }
const E = (() => { try { null.x } catch (e) { return Object.getPrototypeOf(Object.getPrototypeOf(e)) } })()
Object.defineProperty(E, "message", {set() { throw "setter" }, get() { return "proto message" }, configurable: true})
Object.defineProperty(E, "code", {set() { throw "setter" }, configurable: true})
E.name = "Patched"
try { await tools.call("fail") } catch (e) { return [e.message, e.code, Object.getPrototypeOf(e) === E, e.forged ?? null] }
//=> ["it failed","tool_error",true,null]

//// Proxy, Map, Set and WeakSet constructors
globalThis.Proxy = globalThis.Map = globalThis.Set = globalThis.WeakSet = globalThis.Uint8Array = globalThis.Object = globalThis.Array = globalThis.Date = undefined
json({a: [1]}); console.log({b: 1}); setTimeout(() => {}, 0)
return [await tools.echo({c: 1}), Issues.version, ALL_TOOLS.length]
//=> [{"c":1},"1.2",2]
//out ["json", {"a": [1]}]
//out ["text", "{\"b\":1}"]

//// the global undefined, NaN and Infinity, which this engine lets a guest redefine
for (const k of ["undefined", "NaN", "Infinity", "globalThis"]) try { Object.defineProperty(globalThis, k, {value: 1}) } catch {}
json({a: void 0, b: 0 / 0, c: [1 / 0]}); text(void 0)
await tools.search(void 0, {limit: void 0})
return [await tools.echo(void 0), typeof tools.nope, Issues.version, void 0]
//=> [{},"undefined","1.2",null]
//out ["json", {"b": null, "c": [null]}]
//out ["text", "undefined"]

//// patches between a call and its answer
const p = tools.call("echo", {a: 1}), q = tools.call("fail")
JSON.parse = () => ({forged: true})
Map.prototype.get = Map.prototype.delete = () => ({resolve() {}, reject() {}})
Object.defineProperty = Object.hasOwn = () => true
const r = await p
try { await q } catch (e) { return [r, e.message, e.code] }
//=> [{"a":1},"it failed","tool_error"]

//// tampering inside a conversion
const evil = {get a() { Object.keys = JSON.stringify = () => { throw new Error("forged") }; Set.prototype.has = () => true; return {b: [1]} }, c: {d: 2}}
return [await tools.echo(evil), evil]
//=> [{"a":{"b":[1]},"c":{"d":2}},{"a":{"b":[1]},"c":{"d":2}}]

//// a getter that calls the bridge while its object converts
const inner = []
const o = {get a() { inner.push(tools.echo("inner")); text("in getter"); return 1 }, b: 2}
const r = await tools.echo(o)
return [r, await inner[0], inner.length]
//=> [{"a":1,"b":2},"inner",1]
//req ["call", "quoin:core:echo", "inner"]
//req ["call", "quoin:core:echo", {"a": 1, "b": 2}]

//// the result's getter may still call, and is waited for
return {get a() { tools.echo(1).then(() => text("heard")); return 1 }}
//=> {"a":1}
//out ["text", "heard"]

//// symbols that steer built-ins
Object.defineProperty(Object.prototype, Symbol.toPrimitive, {get() { throw new Error("toPrimitive") }, configurable: true})
Object.defineProperty(Object.prototype, Symbol.toStringTag, {get() { throw new Error("toStringTag") }, configurable: true})
Object.defineProperty(Array, Symbol.species, {get() { throw new Error("species") }, configurable: true})
Object.defineProperty(Object.prototype, Symbol.isConcatSpreadable, {get() { throw new Error("spreadable") }, configurable: true})
json([{a: 1}]); console.log({a: [1]})
return await tools.echo([{x: 1}])
//=> [{"x":1}]
//out ["json", [{"a": 1}]]
//out ["text", "{\"a\":[1]}"]

//// frozen built-ins do not hinder the bridge
for (const C of [Object, Array, Map, Set, Promise, Error, Function, String, RegExp, Date]) { Object.freeze(C); Object.freeze(C.prototype) }
Object.preventExtensions(globalThis)
let code
try { await tools.call("fail") } catch (e) { code = e.code }
return [await tools.echo({a: [1]}), Issues.version, code]
//=> [{"a":[1]},"1.2","tool_error"]

//// every global that can go is gone
const {ownKeys, deleteProperty} = Reflect, g = globalThis
const keep = {Promise, Map}
for (const k of ownKeys(g)) deleteProperty(g, k)
json({a: [new keep.Map([[1, 2]])]}); console.log({b: 1}, new keep.Promise(() => {}))
setTimeout(() => text("timer"), 0)
let code
try { await tools.call("fail") } catch (e) { code = e.code }
await new keep.Promise((r) => setTimeout(r, 1))
return [await tools.echo({c: 1}), namespaces.Issues.version, ALL_TOOLS.length, code, await tools.search("é")]
//=> [{"c":1},"1.2",2,"tool_error",{"options":{},"query":"é"}]
//out ["json", {"a": [[[1, 2]]]}]
//out ["text", "{\"b\":1} [Unawaited Promise: use await or Promise.all]"]
//out ["text", "timer"]

//// a failure report runs no patched built-in
const e = new RangeError("kept"), f = {a: [1]}
JSON.stringify = Error.prototype.toString = () => { throw new Error("forged") }
Object.getPrototypeOf = () => { throw new Error("forged") }
for (const k of Object.getOwnPropertyNames(String.prototype)) if (k !== "constructor" && k !== "length") String.prototype[k] = () => "forged"
throw e
//! RangeError: kept

//// a failure report of a plain object runs no patched built-in
JSON.stringify = () => '"forged"'; Object.keys = () => ["forged"]; Object.prototype.toJSON = () => "forged"
throw {a: [1]}
//! {"a":[1]}

//// strings on Object.prototype make no tools
Object.prototype.nope = "quoin:core:nope"
return [typeof tools.nope, "nope" in tools]
//=> ["undefined",false]

// text, json and console.

//// text keeps strings as they are
text(""); text("a\nb"); text("é😀"); text('"quoted"')
return text("x")
//=> null
//out ["text", ""]
//out ["text", "a\nb"]
//out ["text", "é😀"]
//out ["text", "\"quoted\""]
//out ["text", "x"]

//// text of other values is readable
for (const v of [undefined, null, 0, -0, NaN, Infinity, 10n, true, Symbol("s"), function named() {}, () => 1, new TypeError("bad"), [1, {a: 2}], new Date(0), new Map([[1, 2]]), new Number(5)]) text(v)
text()
return 0
//=> 0
//out ["text", "undefined"]
//out ["text", "null"]
//out ["text", "0"]
//out ["text", "0"]
//out ["text", "NaN"]
//out ["text", "Infinity"]
//out ["text", "10"]
//out ["text", "true"]
//out ["text", "Symbol(s)"]
//out ["text", "[function named]"]
//out ["text", "[function]"]
//out ["text", "TypeError: bad"]
//out ["text", "[1,{\"a\":2}]"]
//out ["text", "\"1970-01-01T00:00:00.000Z\""]
//out ["text", "[[1,2]]"]
//out ["text", "5"]
//out ["text", "undefined"]

//// json converts
json({a: undefined, b: 1n}); json(undefined); json("s"); json([new Error("e")]); json(new Set([1]))
return json()
//=> null
//out ["json", {"b": "1"}]
//out ["json", null]
//out ["json", "s"]
//out ["json", [{"name": "Error", "message": "e"}]]
//out ["json", [1]]
//out ["json", null]

//// what cannot be converted throws where it is emitted
const seen = []
for (const emit of [text, json]) try { emit({get a() { throw new Error("getter") }}) } catch (e) { seen.push(e.message) }
return seen
//: silent
//=> ["getter","getter"]

//// order of outputs is the guest's
text(1); json(2); console.log(3); await tools.call("echo"); text(4); json(5)
return 0
//=> 0
//out ["text", "1"]
//out ["json", 2]
//out ["text", "3"]
//out ["text", "4"]
//out ["json", 5]

//// outputs of one turn are bounded in number
//: limits {"maxOutputItems": 3}
text(1); text(2)
let message = "none"
try { text(3) } catch (e) { message = e.message }
console.log("lost"); console.log("lost")
await tools.call("echo")
text(4)
return message
//=> "too much output in one turn: the limit is 2 items and 8388608 bytes"
//out ["text", "1"]
//out ["text", "2"]
//out ["text", "[2 console lines dropped: output limit of one turn]"]
//out ["text", "4"]

//// outputs of one turn are bounded in bytes
//: limits {"maxValueBytes": 100}
text("x".repeat(80))
try { text("y".repeat(80)) } catch (e) { return e.code }
//=> "invalid_input"
//out ["text", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]

//// console joins readable forms
console.log("a", 1, null, undefined, {b: [1n]}, [new Date(0)], new Error("e"), Symbol("s"), () => 1, "%s", NaN)
console.log()
return 0
//=> 0
//out ["text", "a 1 null undefined {\"b\":[\"1\"]} [\"1970-01-01T00:00:00.000Z\"] Error: e Symbol(s) [function] %s NaN"]
//out ["text", ""]

//// console formats
console.log("%s is %d", "x", 5, "more"); console.log("100%", "%s"); console.log("%i%% of %j%c, %o", 5, {a: 1}, "color: red", [2]); console.log("%s %s", 1); console.warn("%q %s", Symbol("s")); console.log("%s")
return 0
//=> 0
//out ["text", "x is 5 more"]
//out ["text", "100% %s"]
//out ["text", "5% of {\"a\":1}, [2]"]
//out ["text", "1 %s"]
//out ["text", "[warn] %q Symbol(s)"]
//out ["text", "%s"]

//// console levels
console.info("i"); console.debug("d"); console.warn("w"); console.error(new Error("e")); console.trace("t"); console.dir({a: 1}, {depth: 1}); console.table([1]); console.assert(1 === 1, "no"); console.assert(false, "yes", 1); console.assert(0)
return 0
//=> 0
//out ["text", "i"]
//out ["text", "d"]
//out ["text", "[warn] w"]
//out ["text", "[error] Error: e"]
//out ["text", "[trace] t"]
//out ["text", "{\"a\":1}"]
//out ["text", "[1]"]
//out ["text", "[assert] yes 1"]
//out ["text", "[assert] assertion failed"]

//// console groups, counts and timers
console.group("outer", 1); console.log("a"); console.groupCollapsed(); console.warn("b"); console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log("c")
console.count(); console.count("x"); console.count(); console.countReset(); console.count(); console.countReset("none"); console.count("__proto__"); console.clear(); console.dirxml("d", 1)
console.timeLog("none", 1); console.timeEnd({a: 1})
for (let i = 0; i < 100; i++) console.group()
console.log("deep")
//out ["text", "outer 1"]
//out ["text", "  a"]
//out ["text", "    [warn] b"]
//out ["text", "c"]
//out ["text", "default: 1"]
//out ["text", "x: 1"]
//out ["text", "default: 2"]
//out ["text", "default: 1"]
//out ["text", "__proto__: 1"]
//out ["text", "d 1"]
//out ["text", "none: no such timer 1"]
//out ["text", "{\"a\":1}: no such timer"]
//out ["text", "                                        deep"]

//// console never throws
console.log({get a() { throw 1 }, b: 2}, {toJSON() { throw 1 }}, new Proxy({}, {ownKeys() { throw 1 }}))
const r = Proxy.revocable({}, {}); r.revoke(); console.log(r.proxy)
const c = {}; c.c = c; console.log(c)
console.log(Object.defineProperty(new Error("x"), "name", {get() { throw 1 }}))
console.log(Object.defineProperty(() => 1, "name", {get() { throw 1 }}))
return 0
//=> 0
//out ["text", "{\"a\":\"[getter threw]\",\"b\":2} \"[unreadable]\" [unreadable]"]
//out ["text", "\"[unreadable]\""]
//out ["text", "{\"c\":\"[Circular]\"}"]
//out ["text", "Error: x"]
//out ["text", "[function]"]

//// console is bounded in depth, entries and size
console.log([[[[[[[1]]]]]]])
console.log(Array.from({length: 103}, (_, i) => 0).length, Array.from({length: 103}, () => 0))
console.log(new Map([[1, 2]]), new Array(4294967295).length)
const wide = {}; for (let i = 0; i < 101; i++) wide["k" + i] = 0
console.log(Object.keys(wide).length, JSON.stringify(wide).length)
console.log(wide)
return 0
//=> 0
//out ["text", "[[[[[[\"…\"]]]]]]"]
//out ["text", "103 [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,… 3 more]"]
//out ["text", "[[1,2]] 4294967295"]
//out ["text", "101 800"]
//out ["text", "{\"k0\":0,\"k1\":0,\"k2\":0,\"k3\":0,\"k4\":0,\"k5\":0,\"k6\":0,\"k7\":0,\"k8\":0,\"k9\":0,\"k10\":0,\"k11\":0,\"k12\":0,\"k13\":0,\"k14\":0,\"k15\":0,\"k16\":0,\"k17\":0,\"k18\":0,\"k19\":0,\"k20\":0,\"k21\":0,\"k22\":0,\"k23\":0,\"k24\":0,\"k25\":0,\"k26\":0,\"k27\":0,\"k28\":0,\"k29\":0,\"k30\":0,\"k31\":0,\"k32\":0,\"k33\":0,\"k34\":0,\"k35\":0,\"k36\":0,\"k37\":0,\"k38\":0,\"k39\":0,\"k40\":0,\"k41\":0,\"k42\":0,\"k43\":0,\"k44\":0,\"k45\":0,\"k46\":0,\"k47\":0,\"k48\":0,\"k49\":0,\"k50\":0,\"k51\":0,\"k52\":0,\"k53\":0,\"k54\":0,\"k55\":0,\"k56\":0,\"k57\":0,\"k58\":0,\"k59\":0,\"k60\":0,\"k61\":0,\"k62\":0,\"k63\":0,\"k64\":0,\"k65\":0,\"k66\":0,\"k67\":0,\"k68\":0,\"k69\":0,\"k70\":0,\"k71\":0,\"k72\":0,\"k73\":0,\"k74\":0,\"k75\":0,\"k76\":0,\"k77\":0,\"k78\":0,\"k79\":0,\"k80\":0,\"k81\":0,\"k82\":0,\"k83\":0,\"k84\":0,\"k85\":0,\"k86\":0,\"k87\":0,\"k88\":0,\"k89\":0,\"k90\":0,\"k91\":0,\"k92\":0,\"k93\":0,\"k94\":0,\"k95\":0,\"k96\":0,\"k97\":0,\"k98\":0,\"k99\":0,… 1 more}"]

//// a sparse array of any length is logged at once
console.log(new Array(4294967295).fill.length, (() => { const a = []; a[4294967294] = 1; return a })())
return 0
//=> 0
//out ["text", "1 [null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,… 4294967195 more]"]

//// console methods may be replaced by the guest
const lines = []
console.log = (...a) => lines.push(a.join("-"))
console.log(1, 2)
return lines
//=> ["1-2"]

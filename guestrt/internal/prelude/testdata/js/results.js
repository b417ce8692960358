// results and API.

//// values are put aside as copies
const o = {a: [1]}
const name = results.save("first", o)
o.a.push(2)
const r = results.load("first"); r.a.push(3)
return [name, results.load("first"), results.delete("first"), results.delete("first")]
//=> ["first",{"a":[1]},true,false]

//// a value without a name gets one
const names = [results.save({x: 1}), results.save(2), results.save("result_3", 3), results.save(4)]
return [names, names.map((n) => results.load(n))]
//=> [["result_1","result_2","result_3","result_4"],[{"x":1},2,3,4]]

//// values convert like results
return results.load(results.save({d: new Date(0), m: new Map([[1, 2]]), b: 1n, u: undefined}))
//=> {"d":"1970-01-01T00:00:00.000Z","m":[[1,2]],"b":"1"}

//// saving again replaces
results.save("a", 1); results.save("a", "two")
return results.load("a")
//=> "two"

//// results survive a wait
results.save("kept", {n: 1})
await tools.call("echo"); await yield_control()
return results.load("kept")
//=> {"n":1}

//// there is room for 64
for (let i = 0; i < 64; i++) results.save("r" + i, i)
const r = []
try { results.save("more", 1) } catch (e) { r.push(e.message, e.code) }
results.save("r0", "again"); results.delete("r1"); results.save("more", 2)
return [r, results.load("more"), results.load("r0")]
//=> [["results are full: at most 64 may be saved in one run; delete some with results.delete(name)","results_full"],2,"again"]

//// their bytes are bounded together
//: limits {"maxValueBytes": 1000}
results.save("a", "x".repeat(900))
const r = []
try { results.save("b", "y".repeat(200)) } catch (e) { r.push(e.message, e.code) }
results.save("a", "z".repeat(500)); results.save("b", "y".repeat(200))
return [r, results.load("b").length]
//=> [["results are full: they would have 1106 bytes, at most 1000 may be saved in one run; save less, or delete some with results.delete(name)","results_full"],200]

//// table wrong use
results.load("none") //! Error: no result is saved as none
results.load() //! Error: results.load expects a name as a string of at most 256 characters, got undefined
results.save("", 1) //! Error: results.save expects a name as a string of at most 256 characters, got an empty one
results.save("n".repeat(300), 1) //! Error: results.save expects a name as a string of at most 256 characters, got a very long one
results.save({get a() { throw new RangeError("getter") }}) //! RangeError: getter
[Object.isFrozen(results), Object.getPrototypeOf(results), results.load.name] //=> [true,null,"load"]

//// patched built-ins change nothing
Map.prototype.get = Map.prototype.set = () => "forged"; JSON.stringify = JSON.parse = () => "forged"
Object.prototype.toJSON = () => "forged"
return results.load(results.save({a: 1}))
//=> {"a":1}

//// files are listed by prefix
const {files} = await API.list(), of = async (prefix) => (await API.list(prefix)).files
return [files, (await of("tools")).length, (await of("/tools/")).length, (await of("mcp")).map((f) => f.path), await of("none"), (await of("")).length]
//=> [[{"path":"guest.d.ts","description":"The globals of every program","bytes":18},{"path":"mcp/index.d.ts","description":"Servers","bytes":3},{"path":"tools/echo.d.ts","description":"Echoes","bytes":5}],1,1,["mcp/index.d.ts"],[],3]
//: silent

//// a file is read
return Promise.all([API.read("tools/echo.d.ts"), API.read("/guest.d.ts")])
//=> [{"path":"tools/echo.d.ts","content":"é 1\n","description":"Echoes","bytes":5},{"path":"guest.d.ts","content":"declare const a: 1","description":"The globals of every program","bytes":18}]

//// what API returns is frozen
"use strict"
const l = await API.list(), f = await API.read("guest.d.ts"), refused = []
for (const t of [() => { l.files = [] }, () => l.files.push(1), () => { l.files[0].path = "x" }, () => { f.content = "x" }, () => { API.read = 1 }]) try { t() } catch (e) { refused.push(e.name) }
return refused
//=> ["TypeError","TypeError","TypeError","TypeError","TypeError"]

//// table wrong paths
API.read("") //! Error: invalid API file path
API.read("/") //! Error: invalid API file path
API.read("../catalog.json") //! Error: invalid API file path
API.read("tools/../guest.d.ts") //! Error: invalid API file path
API.read("./guest.d.ts") //! Error: invalid API file path
API.read("tools//echo.d.ts") //! Error: invalid API file path
API.read("//guest.d.ts") //! Error: invalid API file path
API.read("tools/") //! Error: invalid API file path
API.read() //! Error: invalid API file path: expected a string, got undefined
API.read("catalog.json") //! Error: Unknown API file: catalog.json. API.list() names every file.
API.read("index.json") //! Error: Unknown API file: index.json. API.list() names every file.
API.read("tools/echo.d.ts.json") //! Error: Unknown API file: tools/echo.d.ts.json. API.list() names every file.
API.read("none") //! Error: Unknown API file: none. API.list() names every file.
API.list("..") //! Error: invalid API file path
API.list("tools/./") //! Error: invalid API file path
API.list(5) //! Error: invalid API file path: expected a string, got number

//// a wrong path rejects, also without await
const seen = [API.read("none"), API.list(".."), API.read()].map((p) => p.catch((e) => [e.constructor === Error, e.code]))
return [await Promise.all(seen), API.list("mcp").then((f) => f.files.length) instanceof Promise]
//=> [[[true,"invalid_input"],[true,"invalid_input"],[true,"invalid_input"]],true]
//: silent

//// what was not awaited is not saved
try { results.save({p: Promise.resolve(1)}) } catch (e) { return [e.code, e.message] }
//=> ["invalid_input","an argument holds a promise that was not awaited: put await before the call that made it, or use Promise.all"]

//// a list that nobody asked for is not read
return typeof API.list
//=> "function"

// Errors that reach the guest, and failures that leave it.

//// a failed call rejects with a plain error and its data
try { await tools.call("fail") } catch (e) {
  return [e.constructor === Error, e.name, e.message, Object.keys(e), e.code, e.toolId, e.effectStatus, String(e)]
}
//=> [true,"Error","it failed",["code","toolId","effectStatus"],"tool_error","quoin:core:fail","unknown","Error: it failed"]

//// fields that are not strings or empty do not appear
try { await tools.call("raw", {reject: true, JSON: '{"message":"m","code":"","toolId":7,"extra":"no"}'}) } catch (e) { return [e.message, Object.keys(e)] }
//=> ["m",[]]

//// what a tool says of a retry and beside its message
try { await tools.call("raw", {reject: true, JSON: '{"message":"m","retryable":true,"details":{"__proto__":1,"a":[null,2]}}'}) } catch (e) { return [Object.keys(e), e.retryable, e.details, e.constructor === Error, Object.keys(e.details)] }
//=> [["retryable","details"],true,{"__proto__":1,"a":[null,2]},true,["__proto__","a"]]

//// a retry that is not promised
try { await tools.call("raw", {reject: true, JSON: '{"message":"m","retryable":"yes","details":null}'}) } catch (e) { return [Object.keys(e), e.details] }
//=> [["details"],null]

//// an answer that is no error at all
const seen = []
for (const JSON of ["null", "5", "{}", '{"message":3}', "[]"]) try { await tools.call("raw", {reject: true, JSON}) } catch (e) { seen.push(e.message) }
return seen
//=> ["the call failed","the call failed","the call failed","the call failed","the call failed"]

//// an uncaught failed call
await tools.call("fail")
//! Error: it failed
//kind call_failed

//// a caught and rethrown failed call
try { await tools.call("fail") } catch (e) { throw new TypeError("wrapped: " + e.message) }
//! TypeError: wrapped: it failed
//kind exception

//// table wrong arguments
await tools.call() //! Error: tools.call expects a tool id or name as a string, got undefined
await tools.call(5, {}) //! Error: tools.call expects a tool id or name as a string, got number
await tools.call({id: "x"}) //! Error: tools.call expects a tool id or name as a string, got an object
await tools.call(["x"]) //! Error: tools.call expects a tool id or name as a string, got an array
await tools.call(null) //! Error: tools.call expects a tool id or name as a string, got null
await tools.call("  ") //! Error: tools.call expects a tool id or name as a string, got a blank string
await tools.call("x".repeat(1025)) //! Error: tools.call expects a tool id or name as a string, got a very long one
await tools.search("x".repeat(8193)) //! Error: tools.search expects a query of at most 8192 characters
(await tools.search("x".repeat(8192))).query.length //=> 8192
await tools.describe(() => 1) //! Error: tools.describe expects a tool id or name as a string, got function
await tools.describe(Symbol("s")) //! Error: tools.describe expects a tool id or name as a string, got symbol
await tools.search(5) //! Error: tools.search expects the query as a string, got number
await tools.search({query: "x"}) //! Error: tools.search expects the query as a string, got an object
await tools.search("x", 5) //! Error: tools.search expects its options as an object such as {limit: 5}, got number
await tools.search("x", {limit: 0}) //! Error: tools.search expects limit to be a positive integer, got 0
await tools.search("x", {limit: -1}) //! Error: tools.search expects limit to be a positive integer, got -1
await tools.search("x", {limit: 1.5}) //! Error: tools.search expects limit to be a positive integer, got 1.5
await tools.search("x", {limit: NaN}) //! Error: tools.search expects limit to be a positive integer, got NaN
await tools.search("x", {limit: 1e10}) //! Error: tools.search expects limit to be a positive integer, got 10000000000
await tools.search("x", {limit: "5"}) //! Error: tools.search expects limit to be a positive integer, got string
await tools.search("x", Object.create({limit: -1})) //=> {"options":{},"query":"x"}
await tools.search("x", {limit: undefined}) //=> {"options":{},"query":"x"}
await tools.search("x", {get limit() { return 2 }}) //=> {"options":{"limit":2},"query":"x"}

//// wrong arguments reject, they do not throw
let threw = false, code
try { tools.call(5).catch((e) => { code = e.code }) } catch { threw = true }
await null
return [threw, code]
//=> [false,"invalid_input"]

//// an argument that cannot be converted rejects the call, and none leaves
//: silent
const seen = []
const bad = [{get a() { throw new TypeError("getter") }}, {toJSON() { throw "bare" }}, new Array(4294967295)]
for (const input of bad) for (const make of [() => tools.call("echo", input), () => tools.echo(input), () => Issues.list(input)])
  try { await make() } catch (e) { seen.push(e.message ?? e) }
return seen
//=> ["getter","getter","getter","bare","bare","bare","the value is too large: it has more than 1000000 parts","the value is too large: it has more than 1000000 parts","the value is too large: it has more than 1000000 parts"]

//// calls go on after one that could not be converted
try { await tools.call("echo", {get a() { throw 1 }}) } catch {}
return await tools.call("echo", "fine")
//=> "fine"
//req ["call", "echo", "fine"]

//// an unknown tool function
tools.nope()
//! TypeError: not a function

//// an unknown member of a namespace
Issues.nope()
//! TypeError: not a function

//// table thrown values
(() => { throw new Error("m") })() //! Error: m
(() => { throw new Error("") })() //! Error: 
(() => { throw new SyntaxError("s") })() //! SyntaxError: s
(() => { throw "text" })() //! text
(() => { throw 5 })() //! 5
(() => { throw 5n })() //! 5
(() => { throw undefined })() //! undefined
(() => { throw null })() //! null
(() => { throw true })() //! true
(() => { throw Symbol("why") })() //! Symbol(why)
(() => { throw {code: 7, nested: [1]} })() //! {"code":7,"nested":[1]}
(() => { throw [1, "a"] })() //! [1,"a"]
(() => { throw () => 1 })() //! [function]
(() => { class Mine extends Error { get name() { return "Mine" } }; throw new Mine("x") })() //! Mine: x
(() => { throw Object.assign(new Error("m"), {name: 5}) })() //! Error: m
(() => { throw Object.defineProperty(new Error("m"), "message", {get() { throw 1 }}) })() //! Error: 
(() => { throw {get a() { throw 1 }, b: 2} })() //! {"a":"[getter threw]","b":2}
(() => { throw new Proxy({}, {ownKeys() { throw 1 }}) })() //! [unreadable]
(() => { const r = Proxy.revocable({}, {}); r.revoke(); throw r.proxy })() //! "[unreadable]"
(() => { throw Object.create(Error.prototype, {message: {value: "made"}}) })() //! Error: made
undefinedName //! ReferenceError: 'undefinedName' is not defined
null.x //! TypeError: cannot read property 'x' of null

//// a long message is clipped
throw new Error("x".repeat(9000))
//! Error: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…

//// a big thrown object is clipped
throw Array.from({length: 100000}, (_, i) => i)
//! [0,1,2,3,4,5,6,7,8,9,10,…

//// an error thrown by a timer callback
setTimeout(() => { throw new RangeError("in a timer") }, 0)
await new Promise(() => {})
//! RangeError: in a timer
//kind exception

//// an error thrown by a microtask
queueMicrotask(() => { throw new RangeError("in a microtask") })
await tools.call("echo")
return 1
//! RangeError: in a microtask

//// the first failure is the one reported
tools.call("hold")
queueMicrotask(() => { throw new RangeError("first") })
await tools.call("echo")
throw new Error("second")
//! RangeError: first

//// a callback that throws fails a cell that returns
queueMicrotask(() => { throw new RangeError("first") })
queueMicrotask(() => { throw new RangeError("second") })
return 1
//! RangeError: first

//// the errors inside an AggregateError are told
throw new AggregateError([new TypeError("a"), "b", {c: 1}], "all failed")
//! AggregateError: all failed [TypeError: a; b; {"c":1}]

//// Promise.any tells why all failed
console.log(await Promise.any([tools.call("fail"), Promise.reject(new RangeError("far"))]).catch((e) => e))
await Promise.any([])
//! AggregateError…
//out ["text", "AggregateError: [Error: it failed; RangeError: far]"]

//// many errors inside are cut
throw new AggregateError(Array.from({length: 12}, (_, i) => new Error("e" + i)), "many")
//! AggregateError: many [Error: e0; Error: e1; Error: e2; Error: e3; Error: e4; Error: e5; Error: e6; Error: e7; Error: e8; Error: e9; … 2 more]

//// hostile errors inside
const e = new AggregateError([], "m")
Object.defineProperty(e, "errors", {get() { throw new Error("getter") }})
throw e
//! AggregateError: m

// Calls that leave the guest, and their answers.

//// a call and its answer
return await tools.call("echo", {a: 1})
//=> {"a":1}
//req ["call", "echo", {"a": 1}]

//// a missing input is an empty object
return [await tools.call("echo"), await tools.call("echo", null), await tools.call("echo", undefined)]
//=> [{},{},{}]

//// other inputs cross as they are
return [await tools.call("echo", [1]), await tools.call("echo", 0), await tools.call("echo", "s"), await tools.call("echo", NaN)]
//=> [[1],0,"s",null]

//// inputs convert like results
return await tools.call("echo", {d: new Date(0), b: 1n, m: new Map([[1, 2]]), u: undefined, f() {}, e: new Error("x"), t: new Uint8Array(1)})
//=> {"d":"1970-01-01T00:00:00.000Z","b":"1","m":[[1,2]],"e":{"name":"Error","message":"x"},"t":[0]}

//// calls leave in the order they were made
tools.call("echo", 1); tools.search("q"); tools.describe("d"); Issues.list(2); yield_control("r"); tools.echo(3)
return "sent"
//=> "sent"
//req ["call", "echo", 1]
//req ["search", "q", {}]
//req ["describe", "d"]
//req ["namespace", "issues", ["list"], [2]]
//req ["yield", "r"]
//req ["call", "quoin:core:echo", 3]

//// answers may come in any order
//: reverse
const order = []
const note = (n) => (v) => order.push([n, v])
await Promise.all([tools.call("echo", "a").then(note(1)), tools.call("echo", "b").then(note(2)), tools.call("echo", "c").then(note(3))])
return order
//=> [[3,"c"],[2,"b"],[1,"a"]]

//// calls that nobody awaits are finished before the cell is
tools.call("hold", 1).then((v) => text("held " + v))
return "done"
//=> "done"
//out ["text", "held 1"]

//// a call made by the answer to one that nobody awaits
tools.call("echo", 1).then(() => tools.call("echo", 2)).then((v) => text(v))
return 0
//=> 0
//out ["text", "2"]

//// the value is what it was when the cell returned
const o = {n: 1}
tools.call("echo").then(() => { o.n = 2 })
return o
//=> {"n":1}

//// a failure waits for the pending calls too
tools.call("echo").then(() => text("after"))
throw new Error("early")
//! Error: early
//out ["text", "after"]

//// results are plain data
const r = await tools.call("raw", {JSON: '{"__proto__": {"a": 1}, "then": 5, "l": [1]}'})
return [Object.keys(r), r.then, Object.getPrototypeOf(r.l) === Array.prototype]
//=> [["__proto__","then","l"],5,true]

//// search
return [await tools.search("x"), await tools.search("x", {limit: 3}), await tools.search(), await tools.search("", {})]
//=> [{"options":{},"query":"x"},{"options":{"limit":3},"query":"x"},{"options":{},"query":""},{"options":{},"query":""}]

//// describe
return await tools.describe("echo")
//=> {"id":"echo"}

//// yield_control resolves when the host says so
text("before"); const r = await yield_control(); text("after"); return r
//=> null
//out ["text", "before"]
//out ["text", "after"]
//req ["yield", ""]

//// the reason of a yield is text
yield_control({a: 1}); yield_control(5); await yield_control(null)
return 0
//=> 0
//req ["yield", "{\"a\":1}"]
//req ["yield", "5"]
//req ["yield", "null"]

//// promises are the guest's own kind
return [tools.call("echo") instanceof Promise, tools.search("") instanceof Promise, yield_control() instanceof Promise, Issues.list() instanceof Promise]
//=> [true,true,true,true]

//// a promise that nobody settles
await new Promise(() => {})
//idle

//// too many calls at once
let refused = 0
for (let i = 0; i < 4100; i++) tools.call("echo").catch((e) => { refused++; if (refused === 1) text([e.code, e.message]) })
await null
return refused
//=> 4
//out ["text", "[\"too_many_pending_tool_calls\",\"too many pending calls: at most 4096 may wait at once\"]"]

//// too many bytes in the calls issued at once
//: limits {"maxValueBytes": 10000}
const big = "x".repeat(9000)
const r = await Promise.allSettled([tools.call("echo", big), tools.call("echo", big)])
return r.map((x) => x.status === "fulfilled" ? x.value.length : x.reason.message)
//=> [9000,"the calls issued at once carry more than 10000 bytes"]

//// the bytes of one turn do not count in the next
//: limits {"maxValueBytes": 10000}
const big = "x".repeat(9000)
return [(await tools.call("echo", big)).length, (await tools.call("echo", big)).length]
//=> [9000,9000]

//// a promise that was not awaited is refused where its value is needed
const seen = []
for (const call of [() => tools.echo({a: tools.echo({})}), () => tools.echo(Promise.resolve({})), () => tools.call("echo", {a: [new Map([[1, Promise.resolve()]])]}), () => Issues.list(Promise.resolve(1)), () => MCP.gitHub.createIssue(Promise.resolve({})), () => MCP.gitHub.createIssue({a: Promise.resolve(1)})]) await call().then(() => seen.push("called"), (e) => seen.push(e.code + (e.message.startsWith("an argument holds a promise that was not awaited") ? "" : e.message)))
return seen
//=> ["invalid_input","invalid_input","invalid_input","invalid_input","invalid_input","invalid_input"]

//// half of a surrogate pair is refused, and whole ones cross
const seen = []
for (const input of [{a: "x\ud83d"}, {["\ude00"]: 1}, {a: ["\ude00\ud83d"]}]) await tools.echo(input).then(() => seen.push("called"), (e) => seen.push(e.code + ": " + e.message))
return [seen, (await tools.echo({a: "😀\ud83d".toWellFormed()})) !== undefined]
//=> [["invalid_input: an argument holds a string with half of a surrogate pair, which is no character: cut strings between characters, or use toWellFormed()","invalid_input: an argument holds a string with half of a surrogate pair, which is no character: cut strings between characters, or use toWellFormed()","invalid_input: an argument holds a string with half of a surrogate pair, which is no character: cut strings between characters, or use toWellFormed()"],true]

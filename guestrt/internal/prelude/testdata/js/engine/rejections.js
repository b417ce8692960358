// What the engine notes about promises that nobody handles.

//// an unhandled rejection fails the cell
Promise.reject(new TypeError("nobody cared"))
return 1
//! TypeError: nobody cared

//// a rejection handled in the same turn does not
const p = Promise.reject(new Error("x"))
await null
p.catch(() => {})
return 1
//=> 1

//// a rejection handled turns later does not
const p = tools.call("fail")
await tools.call("echo")
await tools.call("echo")
try { await p } catch (e) { return e.message }
//=> "it failed"

//// a failed call that nobody awaits fails the cell
tools.call("fail")
return 1
//! Error: it failed

//// the first of several is reported
Promise.reject("first")
Promise.reject("second")
return 1
//! first

//// a cell's own failure comes before unhandled rejections
Promise.reject("other")
throw new Error("own")
//! Error: own

//// a rejection explains why a cell waits for nothing
(async () => { throw new RangeError("in the background") })()
await new Promise(() => {})
//! RangeError: in the background

//// a rejection is judged only when all calls have settled
const p = Promise.reject(new Error("late"))
tools.call("hold").then(() => p.catch(() => text("handled")))
return 1
//=> 1
//out ["text", "handled"]

//// Promise.all takes care of its members
try { await Promise.all([tools.call("fail"), tools.call("fail")]) } catch (e) { return e.code }
//=> "tool_error"

//// an async timer callback that rejects
setTimeout(async () => { throw new Error("in a timer") }, 0)
await new Promise((r) => setTimeout(r, 1))
return 1
//! Error: in a timer

//// setters on the prototypes do not see rejections
const seen = []
for (const proto of [Object.prototype, Array.prototype])
  for (const i of [0, 1, 2, 3, 4, 5]) Object.defineProperty(proto, i, {set(v) { seen.push(v) }, get() { return "forged" }, configurable: true})
const p = Promise.reject(new Error("kept"))
await tools.call("echo")
p.catch(() => {})
for (const proto of [Object.prototype, Array.prototype]) for (const i of [0, 1, 2, 3, 4, 5]) delete proto[i]
return seen.length
//=> 0

//// setters on the prototypes do not hide a rejection
for (const proto of [Object.prototype, Array.prototype])
  for (const i of [0, 1, 2]) Object.defineProperty(proto, i, {set(v) {}, get() { return "forged" }, configurable: true})
Object.defineProperty(Object.prototype, "length", {set(v) {}, get() { return 0 }, configurable: true})
Promise.reject(new Error("kept"))
return 1
//! Error: kept

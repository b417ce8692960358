// AbortController, AbortSignal, and the calls they cancel.

//// a controller and its signal
const c = new AbortController(), s = c.signal, seen = []
s.onabort = (e) => seen.push("on", e.type, e.target === s)
s.addEventListener("abort", function (e) { seen.push("listener", this === s) })
s.addEventListener("abort", {handleEvent(e) { seen.push("object", this !== s) }})
s.addEventListener("other", () => seen.push("never"))
s.addEventListener("abort", null)
const before = [s.aborted, s.reason, c.signal === s]
c.abort(); c.abort("again")
return [before, s.aborted, s.reason.name, s.reason.message, s.reason instanceof Error, seen]
//=> [[false,null,true],true,"AbortError","This operation was aborted",true,["on","abort",true,"listener",true,"object",true]]

//// a listener is called once, whatever it was added
const c = new AbortController(), seen = [], f = () => seen.push("f"), g = () => seen.push("g")
c.signal.addEventListener("abort", f); c.signal.addEventListener("abort", f); c.signal.addEventListener("abort", g, {once: true})
c.signal.removeEventListener("abort", g); c.signal.removeEventListener("abort", () => {})
c.abort()
return seen
//=> ["f"]

//// a reason is any value
const c = new AbortController(); c.abort(5)
const thrown = (s) => { try { s.throwIfAborted(); return "no" } catch (e) { return e.name ?? e } }
return [thrown(c.signal), thrown(AbortSignal.abort()), thrown(AbortSignal.abort("why")), thrown(new AbortController().signal)]
//=> [5,"AbortError","why","no"]

//// any follows the first
const a = new AbortController(), b = new AbortController(), s = AbortSignal.any([a.signal, b.signal]), seen = []
s.addEventListener("abort", () => seen.push(s.reason))
b.abort("b"); a.abort("a")
return [seen, AbortSignal.any(new Set([AbortSignal.abort("early"), a.signal])).reason, AbortSignal.any([]).aborted, AbortSignal.any([s]).reason]
//=> [["b"],"early",false,"b"]

//// table wrong use
new AbortSignal() //! TypeError: Illegal constructor: signals come from an AbortController
AbortSignal.any([{}]) //! TypeError: AbortSignal.any expects a list of signals, and item 0 is none
AbortSignal.any(5) //! TypeError: AbortSignal.any expects a list of signals, got number
AbortSignal.timeout(-1) //! TypeError: AbortSignal.timeout expects a number of milliseconds that is not negative
AbortSignal.timeout("x") //! TypeError: …
new AbortController().signal.addEventListener("abort", 5) //! TypeError: addEventListener expects a function, got number
Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted").get.call({}) //! TypeError: …

//// an aborted call rejects with the reason, and the host is told
const c = new AbortController()
const p = tools.call("hold", 1, {signal: c.signal})
await tools.call("echo")
c.abort(new RangeError("enough"))
try { await p } catch (e) { return [e.name, e.message] }
//=> ["RangeError","enough"]
//req ["call", "hold", 1]
//req ["call", "echo", {}]
//req ["cancel", "", [1]]

//// several calls, one request
const c = new AbortController(), {signal} = c
const all = Promise.allSettled([tools.call("hold", 1, {signal}), tools.echo("x", {signal}), Issues.list("a", {signal})])
c.abort()
return (await all).map((r) => r.reason.name)
//=> ["AbortError","AbortError","AbortError"]
//req ["call", "hold", 1]
//req ["call", "quoin:core:echo", "x"]
//req ["namespace", "issues", ["list"], ["a"]]
//req ["cancel", "", [1, 2, 3]]

//// a signal that has aborted makes no call
const signal = AbortSignal.abort("before")
const all = await Promise.allSettled([tools.call("echo", 1, {signal}), tools.echo(1, {signal}), Issues.list({signal})])
return all.map((r) => r.reason)
//: silent
//=> ["before","before","before"]

//// a call that was answered is not cancelled
const c = new AbortController()
const r = await tools.call("echo", 1, {signal: c.signal})
c.abort()
await tools.call("echo", 2)
return r
//=> 1
//req ["call", "echo", 1]
//req ["call", "echo", 2]

//// a timeout cancels
try { await tools.call("hold", 1, {signal: AbortSignal.timeout(1)}) } catch (e) { return [e.name, e.message] }
//=> ["TimeoutError","The operation was aborted due to timeout"]

//// what is no signal option is an argument, or refused
const odd = {signal: "x"}, more = {signal: new AbortController().signal, other: 1}
const r = [await Issues.list(odd), await Issues.list({other: 1}), await tools.echo(1, 5), await tools.echo(1, odd)]
for (const o of [odd, {signal: {}}]) try { await tools.call("echo", 1, o) } catch (e) { r.push(e.message) }
return [r, await tools.call("echo", 1, {}), await tools.call("echo", 1, {signal: undefined}), await tools.call("echo", 1, null)]
//=> [[{"args":[{"signal":"x"}],"ns":"issues","path":["list"]},{"args":[{"other":1}],"ns":"issues","path":["list"]},1,1,"tools.call expects signal to be an AbortSignal, got string","tools.call expects signal to be an AbortSignal, got an object"],1,1,1]

//// what a listener throws fails the cell
const c = new AbortController()
c.signal.addEventListener("abort", () => { throw new RangeError("in a listener") })
c.abort()
await tools.call("echo")
return 1
//! RangeError: in a listener

//// patched built-ins change nothing
const c = new AbortController(), proto = AbortSignal.prototype, signal = c.signal
for (const k of ["aborted", "reason"]) Object.defineProperty(proto, k, {get() { throw new Error("patched") }})
Set.prototype.forEach = Set.prototype.add = () => {}; Object.prototype.signal = AbortSignal.abort("inherited")
const free = await tools.call("echo", 1)
const p = tools.call("hold", 1, {signal})
c.abort("mine")
delete Object.prototype.signal
try { await p } catch (e) { return [free, e] }
//=> [1,"mine"]

//// a signal survives a wait, with its listeners
const c = new AbortController(), seen = []
c.signal.addEventListener("abort", () => seen.push(c.signal.reason))
const p = tools.call("hold", 1, {signal: c.signal})
for (let i = 0; i < 3; i++) await tools.call("echo")
c.abort("late")
return [seen, await p.catch((e) => e)]
//=> [["late"],"late"]

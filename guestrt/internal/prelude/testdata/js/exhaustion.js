// A guest at the end of its stack.

//// calls, output and timers near the end of the stack stay whole
let done = 0, failed = 0, issued = 0
const calls = []
const attempt = () => {
  try { text("t"); json([1, {a: 2}]); console.log("c", {b: 1}); clearTimeout(setTimeout(() => {}, 5)); done++ } catch { failed++ }
  calls[issued++] = tools.call("echo", {a: [1]})
}
const dive = () => { try { dive() } catch {}; if (done < 20) try { attempt() } catch { failed++ } }
dive()
const answers = await Promise.allSettled(calls.filter(Boolean))
const kinds = new Set(answers.map((a) => a.status === "fulfilled" ? JSON.stringify(a.value) : a.reason.name))
return [done, failed > 0, kinds, await tools.echo("after")]
//=> [20,true,["InternalError","{\"a\":[1]}"],"after"]

//// an endless recursion inside a conversion fails the cell with a normal error
const o = {toJSON() { json(o) }}
let name
try { json(o) } catch (e) { name = e.name }
return [name === "InternalError" || name === "RangeError", await tools.echo(1)]
//=> [true,1]

//// a deep value within the depth cap converts at any stack
//: limits {"maxDepth": 400}
let v = 0
for (let i = 0; i < 400; i++) v = {v}
json(v)
return 1
//=> 1

// Results with methods, and tags of template literals.

//// a result has the methods of its class, which call with its key
const job = await Jobs.run("make")
return [await job.poll({wait: 1}, undefined), typeof job.kill, typeof (await job.kill()).poll, typeof (await (await job.poll()).poll()).kill]
//=> [{"args":["jobs",{"wait":1}],"ns":"jobs","path":["Job","prototype","poll"]},"function","undefined","function"]
//req ["namespace", "jobs", ["run"], ["make"]]
//req ["namespace", "jobs", ["Job", "prototype", "poll"], ["jobs", {"wait": 1}]]
//req ["namespace", "jobs", ["Job", "prototype", "kill"], ["jobs"]]
//req ["namespace", "jobs", ["Job", "prototype", "poll"], ["jobs"]]
//req ["namespace", "jobs", ["Job", "prototype", "poll"], ["jobs"]]

//// and is a plain object to everything else
const job = await Jobs.run("make")
const {poll, ...rest} = job
const d = Object.getOwnPropertyDescriptor(job, "poll")
return [job, Object.keys(job), typeof rest.kill, typeof structuredClone(job).kill, Object.getPrototypeOf(job) === Object.prototype, [d.writable, d.enumerable, d.configurable]]
//=> [{"args":["make"],"ns":"jobs","path":["run"]},["args","ns","path"],"undefined","undefined",true,[false,false,false]]

//// a field of a result with the name of a method stays
const job = await Jobs.run()
return [job.path, Object.keys(job).includes("path")]
//=> [["run"],true]

//// what stands in a field of a result may have the methods
const { args, poll } = await Jobs.list({id: 1}, {id: 0}, {id: null}, {}, null, [{id: 2}], 7)
return [typeof poll, args.map((a) => typeof a?.poll), (await args[1].poll()).args]
//=> ["undefined",["function","function","undefined","undefined","undefined","undefined","undefined"],[0]]

//// methods are constant, frozen, named, shared, and no constructors
"use strict"
const a = await Jobs.run(1), b = await Jobs.run(2)
const tries = [() => { a.poll = 1 }, () => { delete a.poll }, () => { a.poll.x = 1 }, () => new a.poll()]
return [tries.filter((f) => { try { f() } catch { return true } }).length, a.poll === b.poll, a.poll.name, Object.isFrozen(a.poll), "prototype" in a.poll]
//=> [4,true,"poll",true,false]

//// a method wants an object with the key, and uses the one of now
const job = await Jobs.run(), seen = []
for (const self of [undefined, null, 1, "x", {}, {ns: null}, Object.create({ns: 1}), [1]]) try { await job.poll.call(self) } catch (e) { seen.push([e.name, e.message]) }
job.ns = "other"
return [seen.length, seen[0], (await job.poll()).args]
//=> [8,["TypeError","poll is a method of Job: call it on a result that has ns"],["other"]]

//// a signal is taken out of the options
const job = await Jobs.run(), {signal} = new AbortController()
return [(await job.poll({wait: 1, signal})).args, (await job.poll({signal})).args, (await Jobs.run("x", {signal, y: 2})).args]
//=> [["jobs",{"wait":1}],["jobs"],["x",{"y":2}]]

//// an abort ends a call of a method
const job = await Jobs.run(), controller = new AbortController()
const call = job.poll({wait: 1, signal: controller.signal})
controller.abort()
return await call.catch((e) => e.name)
//=> "AbortError"

//// a tag sends texts and values
const word = "a b"
return [(await Jobs.sh`grep ${word} ${[1]}*.md${undefined}`).args, (await Jobs.sh``).args, typeof (await Jobs.sh`x`).poll]
//=> [[{"strings":["grep "," ","*.md",""]},"a b",[1],null],[{"strings":[""]}],"function"]

//// and the texts as they are written, where escapes change them
return (await Jobs.sh`a\tb ${1} \u{zz}`).args
//=> [{"strings":["a\tb ",null],"raw":["a\\tb "," \\u{zz}"]},1]

//// a tag is no ordinary function
const seen = []
for (const wrong of [[], ["ls"], [["ls"]], [{raw: ["ls"]}], [`ls ${1}`]]) try { await Jobs.sh(...wrong) } catch (e) { seen.push([e.name, e.message]) }
return [seen.length, seen[1]]
//=> [5,["TypeError","sh stands in front of a template literal: write sh`…`, without parentheses"]]

//// patched built-ins reach no method
let hits = 0
const names = ["0", "1", "ns", "key", "value", "get", "raw", "strings", "returns", "complete", "args"]
const { defineProperty, deleteProperty } = Reflect
const spy = { __proto__: null, configurable: true, get() { hits++ }, set() { hits++ } }
for (const p of [Object.prototype, Array.prototype]) for (const k of names) defineProperty(p, k, spy)
Array.isArray = Object.hasOwn = Object.keys = Object.defineProperty = Object.freeze = () => { hits++ }
hits = 0
const job = await Jobs.run("a", "b")
await (await job.poll("c")).kill()
await Jobs.sh`x ${1} y`
const seen = hits
for (const p of [Object.prototype, Array.prototype]) for (const k of names) deleteProperty(p, k)
return seen
//=> 0
//req ["namespace", "jobs", ["run"], ["a", "b"]]
//req ["namespace", "jobs", ["Job", "prototype", "poll"], ["jobs", "c"]]
//req ["namespace", "jobs", ["Job", "prototype", "kill"], ["jobs"]]
//req ["namespace", "jobs", ["sh"], [{"strings": ["x ", " y"]}, 1]]

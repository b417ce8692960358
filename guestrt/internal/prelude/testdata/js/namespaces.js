// Namespace globals and the namespaces object.

//// a call carries the namespace, the path and all arguments that were given
return [await Issues.list({state: "open"}, undefined, 2, undefined), await Issues.admin.close("I-1"), await Issues.labels[1].run()]
//=> [{"args":[{"state":"open"},null,2],"ns":"issues","path":["list"]},{"args":["I-1"],"ns":"issues","path":["admin","close"]},{"args":[],"ns":"issues","path":["labels","1","run"]}]
//req ["namespace", "issues", ["list"], [{"state": "open"}, null, 2]]
//req ["namespace", "issues", ["admin", "close"], ["I-1"]]
//req ["namespace", "issues", ["labels", "1", "run"], []]

//// a namespace may be a single function
return await Ping(1, 2)
//=> {"args":[1,2],"ns":"ping","path":[]}

//// values are plain data
return [Issues.version, Issues.config, Issues.labels[0], Issues.nothing, Issues]
//=> ["1.2",{"deep":{"list":[1,{"x":2}]}},"bug",null,{"version":"1.2","labels":["bug",{}],"admin":{"__proto__":1},"config":{"deep":{"list":[1,{"x":2}]}},"nothing":null}]

//// objects are frozen and have no prototype
const objects = [Issues, Issues.admin, Issues.labels[1], Issues.config, Issues.config.deep, Issues.config.deep.list[1]]
return [objects.map(Object.isFrozen), objects.map((o) => Object.getPrototypeOf(o))]
//=> [[true,true,true,true,true,true],[null,null,null,null,null,null]]

//// arrays are frozen and remain arrays
const arrays = [Issues.labels, Issues.config.deep.list]
return [arrays.map(Object.isFrozen), arrays.map(Array.isArray), Issues.labels.map((l) => typeof l)]
//=> [[true,true],[true,true],["string","object"]]

//// functions are frozen, named, and no constructors
const f = Issues.admin.close
let constructed = true
try { new f() } catch { constructed = false }
return [Object.isFrozen(f), f.name, constructed, "prototype" in f, f === Issues.admin.close]
//=> [true,"close",false,false,true]

//// nothing in a namespace can be changed
"use strict"
const tries = [() => { Issues.list = 1 }, () => { Issues.fresh = 1 }, () => { delete Issues.admin }, () => Issues.labels.push(1), () => { Issues.config.deep.list[0] = 9 }, () => Object.setPrototypeOf(Issues, {}), () => { Issues.list.x = 1 }, () => { Issues = 1 }, () => { namespaces.Issues = 1 }, () => { delete globalThis.Issues }]
return tries.filter((f) => { try { f() } catch { return true } }).length
//=> 10

//// namespaces holds them all
return [Object.keys(namespaces), Object.getPrototypeOf(namespaces), Object.isFrozen(namespaces), namespaces.Issues === Issues, typeof namespaces.Nope]
//=> [["Issues","Ping","Jobs","Broken","Missing"],null,true,true,"undefined"]

//// a namespace that could not be made fails at every use, with its reason
const seen = []
for (const use of [() => Broken.x, () => namespaces.Broken.list(), () => Missing.x, () => "x" in Broken, () => { Broken.x = 1 }, () => Object.keys(Broken)]) try { use() } catch (e) { seen.push([e.constructor === Error, e.message, e.code ?? null]) }
return seen
//=> [[true,"the plugin is gone","plugin_unavailable"],[true,"the plugin is gone","plugin_unavailable"],[true,"namespace missing is unavailable",null],[true,"the plugin is gone","plugin_unavailable"],[true,"the plugin is gone","plugin_unavailable"],[true,"the plugin is gone","plugin_unavailable"]]

//// and typeof may ask for it
return [typeof Broken, typeof Missing, Object.keys(namespaces)]
//=> ["object","object",["Issues","Ping","Jobs","Broken","Missing"]]

//// its failure is the program's own, for nothing was called
Broken.list()
//! Error: the plugin is gone
//kind exception

//// nor is it a value
return [Broken]
//! Error: the plugin is gone

//// a cell may shadow a namespace
const Issues = 5
const tools = "mine", text = 1
return [Issues, tools, text, globalThis.Issues === namespaces.Issues]
//=> [5,"mine",1,true]

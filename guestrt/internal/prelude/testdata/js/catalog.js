// ALL_TOOLS and tools.

//// ALL_TOOLS is the catalog
return ALL_TOOLS.map((e) => e.id)
//=> ["quoin:core:echo","quoin:core:fail"]

//// ALL_TOOLS is frozen all the way
"use strict"
const tries = [() => ALL_TOOLS.push(1), () => { ALL_TOOLS[0] = 1 }, () => { ALL_TOOLS[0].id = "x" }, () => { ALL_TOOLS[0].tags.push("b") }, () => { delete ALL_TOOLS[0].name }]
const refused = tries.filter((f) => { try { f() } catch { return true } }).length
return [Object.isFrozen(ALL_TOOLS), ALL_TOOLS.every(Object.isFrozen), Object.isFrozen(ALL_TOOLS[0].tags), refused, ALL_TOOLS === ALL_TOOLS]
//=> [true,true,true,5,true]

//// ALL_TOOLS iterates and filters as an array
const names = []
for (const {name} of ALL_TOOLS) names.push(name)
return [names, ALL_TOOLS.find((t) => t.name === "fail").description, Array.isArray(ALL_TOOLS)]
//=> [["echo","fail"],"Fails",true]

//// tools has a function for every safe name
return [await tools.echo({a: 1}), await tools.web_search(), typeof tools.nope, typeof tools.then]
//=> [{"a":1},{},"undefined","undefined"]
//req ["call", "quoin:core:echo", {"a": 1}]
//req ["call", "quoin:web:web-search", {}]

//// tools can be listed
return [Object.keys(tools), "echo" in tools, "nope" in tools, Object.hasOwn(tools, "web_search"), Reflect.ownKeys(tools).length]
//=> [["search","describe","call","echo","web_search","__proto__"],true,false,true,6]

//// tools has no prototype and cannot be changed
"use strict"
const tries = [() => { tools.echo = 1 }, () => { tools.fresh = 1 }, () => { delete tools.echo }, () => Object.defineProperty(tools, "x", {value: 1}), () => Object.setPrototypeOf(tools, {}), () => { tools.call.x = 1 }, () => { tools.echo.x = 1 }]
const refused = tries.filter((f) => { try { f() } catch { return true } }).length
return [Object.getPrototypeOf(tools), Object.isFrozen(tools), refused, typeof tools.echo, tools.echo === tools.echo, Object.isFrozen(tools)]
//=> [null,true,7,"function",true,true]

//// tools can be frozen and described
const d = Object.getOwnPropertyDescriptor(tools, "web_search")
return [Object.freeze(tools) === tools, d.enumerable, d.writable, d.configurable, d.value.name, tools.call.name, Object.getOwnPropertyDescriptor(tools, "nope") === undefined]
//=> [true,true,false,false,"web_search","call",true]

//// tools spreads and destructures
const {echo, ...rest} = tools
return [await echo(1), Object.keys(rest)]
//=> [1,["search","describe","call","web_search","__proto__"]]

//// tool functions need no receiver and are no constructors
const {call, search} = tools
let constructed = true
try { new call("echo") } catch { constructed = false }
return [await call("echo", 2), (await search("s")).query, constructed]
//=> [2,"s",false]

//// a tool may be named __proto__
return [typeof tools["__proto__"], await tools["__proto__"](4)]
//=> ["function",4]

//// tools as a value has no data
return {tools}
//=> {"tools":{}}

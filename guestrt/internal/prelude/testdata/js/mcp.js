// The MCP global.

//// a call carries the server, the tool and the one object
return [await MCP.gitHub.createIssue({ title: "x", when: new Date(0) }), await MCP.gitHub.then2()]
//=> [{"args":[{"title":"x","when":"1970-01-01T00:00:00.000Z"}],"ns":"git-hub","path":["create-issue"]},{"args":[],"ns":"git-hub","path":["then"]}]
//req ["mcp", "git-hub", ["create-issue"], [{"title": "x", "when": "1970-01-01T00:00:00.000Z"}]]
//req ["mcp", "git-hub", ["then"], []]

//// operations have a path of two words
return [await MCP.gitHub.resources.list(), await MCP.gitHub.prompts.get({ name: "brief" })]
//=> [{"args":[],"ns":"git-hub","path":["resources","list"]},{"args":[{"name":"brief"}],"ns":"git-hub","path":["prompts","get"]}]

//// undefined at the end counts as no argument, null and everything else but one plain object do not
const seen = []
for (const args of [[undefined], [{}, undefined], [null], [1], ["x"], [[]], [() => 1], [new Map()], [new Date()], [{}, {}], [undefined, {}]]) {
  try { await MCP.gitHub.createIssue(...args); seen.push("ok") } catch (e) { seen.push([e.message, e.code, e.toolId]) }
}
const refused = ["MCP namespace tools accept one object argument.", "invalid_input", "mcp:git-hub:create-issue"]
return [seen[0], seen[1], seen.slice(2).every((s) => JSON.stringify(s) === JSON.stringify(refused))]
//=> ["ok","ok",true]

//// objects are frozen and have no prototype
const objects = [MCP, MCP.gitHub, MCP.gitHub.resources, MCP.gitHub.prompts, MCP.idle]
return [objects.map(Object.isFrozen), objects.map((o) => Object.getPrototypeOf(o)), Object.isFrozen(MCP.gitHub.createIssue)]
//=> [[true,true,true,true,true],[null,null,null,null,null],true]

//// keys, names and the server's own name
return [Object.keys(MCP), Object.keys(MCP.gitHub), MCP.gitHub.$serverName, MCP.gitHub.createIssue.name, MCP.gitHub.resources.list.name, Object.keys(MCP.idle), MCP.nope === undefined]
//=> [["gitHub","idle","large"],["createIssue","then2","resources","prompts"],"git-hub","createIssue","list",[],true]

//// a server is no thenable, and built once
return [await MCP.gitHub === MCP.gitHub, MCP === globalThis.MCP]
//=> [true,true]

//// nothing in MCP can be changed
"use strict"
const tries = [() => { MCP.fresh = 1 }, () => { MCP.gitHub = 1 }, () => { delete MCP.gitHub.createIssue }, () => { MCP.gitHub.createIssue = 1 }, () => { MCP.gitHub.resources.list = 1 }, () => Object.setPrototypeOf(MCP, {}), () => { MCP = 1 }, () => { delete globalThis.MCP }]
return tries.filter((f) => { try { f() } catch { return true } }).length
//=> 8

//// $api of a server
return await MCP.gitHub.$api()
//=> {"kind":"mcp_api","scope":"server","server":{"identifier":"gitHub","serverName":"git-hub","toolCount":2},"header":"declare all","tools":[{"method":"createIssue","path":"createIssue","mcpTool":"create-issue","description":"Creates"},{"method":"list","path":"resources.list","mcpTool":"resources_list","operation":"resources_list","description":"Lists"}],"note":"Call a tool as MCP.gitHub.<method>({ ... }) with one object."}

//// $api of one tool, by method, path or original name, with its schema
const { schemas, header, scope } = await MCP.gitHub.$api("create-issue", { schema: true })
return [schemas, header, scope, (await MCP.gitHub.$api("createIssue")).scope, (await MCP.gitHub.$api("resources.list")).tools.length]
//=> [{"createIssue":{"input":{"type":"object"}}},"declare one","tool","tool",1]

//// $api of a tool that is not there
const { scope, tools, note } = await MCP.gitHub.$api("nope")
return [scope, tools, note]
//=> ["server",[],"No tool of this server has that name. Call $api() without arguments for the list."]

//// $api refuses what it does not understand
const seen = []
for (const args of [[1], ["x", 2]]) try { await MCP.gitHub.$api(...args) } catch (e) { seen.push(e.message, e.code) }
return seen
//=> ["MCP.gitHub.$api expects the tool as a string, got number","invalid_input","MCP.gitHub.$api expects its options as an object such as {schema: true}, got number","invalid_input"]

//// patched built-ins do not reach the bridge
Array.prototype[0] = { evil: 1 }
Object.prototype.operation = "resources_list"
Array.isArray = () => false
const out = await MCP.gitHub.createIssue()
delete Array.prototype[0]
delete Object.prototype.operation
return out
//=> {"args":[],"ns":"git-hub","path":["create-issue"]}

//// a large server makes its functions as they are used
return [await MCP.large.doIt({ a: 1 }), await MCP.large["do-it"](), MCP.large.doIt === MCP.large["do-it"], MCP.large.then, MCP.large.nope, await MCP.large === MCP.large, "other" in MCP.large]
//=> [{"args":[{"a":1}],"ns":"large","path":["do-it"]},{"args":[],"ns":"large","path":["do-it"]},true,null,null,true,true]

//// a large server can be listed, and looks frozen
"use strict"
const { large } = MCP, first = large.doIt.name
const tries = [() => { large.fresh = 1 }, () => { delete large.doIt }, () => { large.doIt = 1 }, () => Object.setPrototypeOf(large, {}), () => Object.defineProperty(large, "fresh", { value: 1 })]
const refused = tries.filter((f) => { try { f() } catch { return true } }).length
return [first, Object.keys(large), large.other.name, "then" in large, Object.isFrozen(large), Object.getPrototypeOf(large), large.$serverName, refused, await large.resources.list()]
//=> ["doIt",["resources","doIt","then2","other"],"other",false,true,null,"large",5,{"args":[],"ns":"large","path":["resources","list"]}]

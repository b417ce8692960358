// URL, URLSearchParams and crypto.

//// the parts of a URL
const u = new URL("HTTPS://user:p%40ss@EXAMPLE.com:8443/a/./b/../c?x=1&y=a%20b#frag")
return [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, String(u), JSON.stringify({u})]
//=> ["https://user:p%40ss@example.com:8443/a/c?x=1&y=a%20b#frag","https://example.com:8443","https:","user","p%40ss","example.com:8443","example.com","8443","/a/c","?x=1&y=a%20b","#frag","https://user:p%40ss@example.com:8443/a/c?x=1&y=a%20b#frag","{\"u\":\"https://user:p%40ss@example.com:8443/a/c?x=1&y=a%20b#frag\"}"]

//// table parsing
new URL("../x?q#h", "http://a.b/c/d/e") //=> "http://a.b/c/x?q#h"
new URL("//c.d/e", "https://a.b/") //=> "https://c.d/e"
new URL("http://a.b:80/").host //=> "a.b"
new URL("http://[::1]:3000/").hostname //=> "[::1]"
new URL("http://0x7f.1/").hostname //=> "127.0.0.1"
new URL("http://münchen.example/ü?ü#ü") //=> "http://xn--mnchen-3ya.example/%C3%BC?%C3%BC#%C3%BC"
new URL("mailto:a@b.c").origin //=> "null"
new URL("data:text/plain,hi").pathname //=> "text/plain,hi"
new URL("file:///C|/a").pathname //=> "/C:/a"
new URL("  http://a.b/\t c\n ") //=> "http://a.b/%20c"
new URL("http://a.b/\ud800") //=> "http://a.b/%EF%BF%BD"
new URL("blob:https://a.b/id").origin //=> "https://a.b"
new URL(new URL("http://a.b/")) //=> "http://a.b/"
[URL.canParse("http://a"), URL.canParse("a"), URL.canParse("a", "http://b"), URL.parse("nope"), URL.parse("/x", "http://a").href] //=> [true,false,true,null,"http://a/x"]
new URL("nope") //! TypeError: Invalid URL: nope
new URL("x", "nope") //! TypeError: Invalid URL: x with the base nope
new URL("http://a b/") //! TypeError: Invalid URL: http://a b/
new URL("http://a:99999/") //! TypeError: …
new URL("http://a/" + "x".repeat(70000)) //! TypeError: Invalid URL: http://a/xxx…
URL("http://a") //! TypeError: …

//// parts can be set
const u = new URL("http://a.b/c?d#e"), seen = []
for (const [k, v] of [["protocol", "https"], ["username", "me"], ["password", "x:y"], ["hostname", "c.d"], ["port", "99"], ["pathname", "p q"], ["search", "r=s t"], ["hash", "z"], ["host", "e.f:1"], ["search", ""], ["hash", ""], ["port", ""], ["port", "http"], ["protocol", "nope nope"], ["hostname", "a b"], ["host", ""]]) { u[k] = v; seen.push(u.href) }
return seen
//=> ["https://a.b/c?d#e","https://me@a.b/c?d#e","https://me:x%3Ay@a.b/c?d#e","https://me:x%3Ay@c.d/c?d#e","https://me:x%3Ay@c.d:99/c?d#e","https://me:x%3Ay@c.d:99/p%20q?d#e","https://me:x%3Ay@c.d:99/p%20q?r=s%20t#e","https://me:x%3Ay@c.d:99/p%20q?r=s%20t#z","https://me:x%3Ay@e.f:1/p%20q?r=s%20t#z","https://me:x%3Ay@e.f:1/p%20q#z","https://me:x%3Ay@e.f:1/p%20q","https://me:x%3Ay@e.f/p%20q","https://me:x%3Ay@e.f/p%20q","https://me:x%3Ay@e.f/p%20q","https://me:x%3Ay@e.f/p%20q","https://me:x%3Ay@e.f/p%20q"]

//// a URL and its parameters follow each other
const u = new URL("http://a/?x=1"), p = u.searchParams
p.append("y", "a b&c"); const a = u.href
u.search = "?z=%41+"; const b = [...p]
p.delete("z"); const c = u.href
u.href = "http://b/?q=1"
return [a, b, c, p.get("q"), u.searchParams === p]
//=> ["http://a/?x=1&y=a+b%26c",[["z","A "]],"http://a/","1",true]

//// an href that is no URL changes nothing
const u = new URL("http://a/")
try { u.href = "nope" } catch (e) { return [e.name, u.href] }
//=> ["TypeError","http://a/"]

//// parameters
const p = new URLSearchParams("?a=1&b=2&a=3&&c&=d&e=%zz%C3%A9")
const r = [p.size, p.get("a"), p.getAll("a"), p.get("none"), p.has("c"), p.has("a", "3"), p.has("a", "4"), [...p.keys()], [...p.values()], String(p)]
p.set("a", "x"); p.delete("b", "9"); p.delete("c"); p.set("new", "é*-._~ "); p.sort()
const each = []
p.forEach(function (v, k, o) { each.push([k, v, o === p, this.t]) }, {t: 1})
return [r, String(p), each.length, each[1]]
//=> [[6,"1",["1","3"],null,true,true,false,["a","b","a","c","","e"],["1","2","3","","d","%zzé"],"a=1&b=2&a=3&c=&=d&e=%25zz%C3%A9"],"=d&a=x&b=2&e=%25zz%C3%A9&new=%C3%A9*-._%7E+",5,["a","x",true,1]]

//// table making parameters
String(new URLSearchParams({a: 1, b: [2, 3]})) //=> "a=1&b=2%2C3"
String(new URLSearchParams([["a", 1], ["a", 2]])) //=> "a=1&a=2"
String(new URLSearchParams(new Map([["k", "v"]]))) //=> "k=v"
String(new URLSearchParams(new URLSearchParams("x=y"))) //=> "x=y"
String(new URLSearchParams()) //=> ""
String(new URLSearchParams(null)) //=> "null="
[...new URLSearchParams("a=1").entries()] //=> [["a","1"]]
Object.fromEntries(new URLSearchParams("a=1&b=2")) //=> {"a":"1","b":"2"}
new URLSearchParams("b=1&a=2&b=0").sort() ?? 1 //=> 1
new URLSearchParams([["a"]]) //! TypeError: URLSearchParams expects each item to be a pair [name, value], and item 0 is none
new URLSearchParams([5]) //! TypeError: …
new URLSearchParams("a").forEach(5) //! TypeError: URLSearchParams.forEach expects a function, got number

//// an iterator sees what is appended meanwhile
const p = new URLSearchParams("a=1"), seen = []
for (const [k] of p) { seen.push(k); if (seen.length < 3) p.append(k + seen.length, "") }
return seen
//=> ["a","a1","a12"]

//// random values
const a = new Uint8Array(64), b = crypto.getRandomValues(new Uint32Array(16)), part = new Uint8Array(new ArrayBuffer(100), 10, 50)
const same = crypto.getRandomValues(a) === a
crypto.getRandomValues(part)
const whole = new Uint8Array(part.buffer)
return [same, new Set(a).size > 20, new Set(b).size, whole.slice(0, 10).every((x) => x === 0), whole.slice(60).every((x) => x === 0), new Set(part).size > 20, crypto.getRandomValues(new Uint8Array(0)).length]
//=> [true,true,16,true,true,true,0]

//// random UUIDs
const ids = Array.from({length: 100}, () => crypto.randomUUID())
return [ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)), new Set(ids).size]
//=> [true,100]

//// table wrong arrays
crypto.getRandomValues(new Float64Array(1)) //! TypeError: crypto.getRandomValues expects an integer typed array, got Float64Array
crypto.getRandomValues([1]) //! TypeError: crypto.getRandomValues expects an integer typed array, got an array
crypto.getRandomValues() //! TypeError: crypto.getRandomValues expects an integer typed array, got undefined
crypto.getRandomValues(new Uint8Array(65537)) //! QuotaExceededError: crypto.getRandomValues fills at most 65536 bytes, got 65537
crypto.getRandomValues(new DataView(new ArrayBuffer(1))) //! TypeError: …
Object.isFrozen(crypto) //=> true

//// patched built-ins change nothing
JSON.parse = () => "forged"; String.prototype.slice = () => "forged"; Array.prototype[Symbol.iterator] = function* () {}
RegExp.prototype.exec = () => null; Array.prototype.sort = () => {}
Object.defineProperty(Object.prototype, "name", {set() { throw new Error("setter") }, configurable: true})
const u = new URL("http://a/?b=1 2"); u.searchParams.append("c", "é")
return [u.href, crypto.randomUUID().length]
//=> ["http://a/?b=1+2&c=%C3%A9",36]

//// objects survive a wait
const u = new URL("http://a/?b=1"), it = u.searchParams.entries()
it.next()
await tools.call("echo")
u.searchParams.append("c", "2")
return [u.href, it.next(), it.next()]
//=> ["http://a/?b=1&c=2",{"value":["c","2"],"done":false},{"done":true}]

// TextEncoder, TextDecoder, atob and btoa.

//// table encode
new TextEncoder().encode("aé€😀") //=> [97,195,169,226,130,172,240,159,152,128]
new TextEncoder().encode("\ud800x\udc00") //=> [239,191,189,120,239,191,189]
new TextEncoder().encode() //=> []
new TextEncoder().encode(12) //=> [49,50]
new TextEncoder().encoding //=> "utf-8"
new TextEncoder().encodeInto("a😀b", new Uint8Array(4)) //=> {"read":1,"written":1}
new TextEncoder().encodeInto("a😀b", new Uint8Array(5)) //=> {"read":3,"written":5}
new TextEncoder().encodeInto("a", [1]) //! TypeError: TextEncoder.encodeInto expects a Uint8Array as its destination, got an array
TextEncoder() //! TypeError: …

//// table decode
new TextDecoder().decode(new Uint8Array([97, 195, 169, 226, 130, 172, 240, 159, 152, 128])) //=> "aé€😀"
new TextDecoder().decode() //=> ""
new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 65])) //=> "A"
new TextDecoder("utf-8", {ignoreBOM: true}).decode(new Uint8Array([0xef, 0xbb, 0xbf, 65])).length //=> 2
new TextDecoder().decode(new Uint8Array([0xc0, 0x80, 0xff])) //=> "���"
new TextDecoder().decode(new Uint8Array([0xe2, 0x82, 65])) //=> "�A"
new TextDecoder().decode(new Uint8Array([0xf0, 0x9f, 0x98])) //=> "�"
new TextDecoder().decode(new Uint8Array([0xed, 0xa0, 0x80])) //=> "���"
new TextDecoder().decode(new Uint8Array([0xf4, 0x90, 0x80, 0x80])) //=> "����"
new TextDecoder().decode(new Uint16Array([0x4241]).buffer) //=> "AB"
new TextDecoder().decode(new DataView(new Uint8Array([64, 65, 66, 67]).buffer, 1, 2)) //=> "AB"
new TextDecoder("utf-16le").decode(new Uint8Array([0x41, 0, 0x3d, 0xd8, 0, 0xde])) //=> "A😀"
new TextDecoder("utf-16le").decode(new Uint8Array([0xff, 0xfe, 0x41, 0, 0x42])) //=> "A�"
new TextDecoder("utf-16").decode(new Uint8Array([0, 0xdc, 0, 0xd8, 0x41, 0])) //=> "��A"
[new TextDecoder(" UTF8 ").encoding, new TextDecoder("ucs-2").encoding, new TextDecoder().fatal, new TextDecoder("utf-8", {fatal: 1}).fatal] //=> ["utf-8","utf-16le",false,true]
new TextDecoder("latin1") //! RangeError: TextDecoder knows utf-8 and utf-16le, not latin1
new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([0xff])) //! TypeError: TextDecoder: the bytes are not valid text in this encoding
new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([0xe2, 0x82])) //! TypeError: …
new TextDecoder().decode("text") //! TypeError: TextDecoder.decode expects a buffer or a typed array, got string
new TextDecoder("utf-8", 5) //! TypeError: TextDecoder expects its options as an object, got number

//// a stream may break anywhere
const bytes = new TextEncoder().encode("\ufeffa😀é\ufeff"), wide = new Uint8Array([0xff, 0xfe, 0x3d, 0xd8, 0, 0xde, 0x41, 0])
const byByte = (d, all) => { let s = ""; for (const b of all) s += d.decode(new Uint8Array([b]), {stream: true}); return s + d.decode() }
const d = new TextDecoder()
return [byByte(d, bytes), byByte(d, bytes), byByte(new TextDecoder("utf-16le"), wide), byByte(d, bytes.slice(0, 6))]
//=> ["a😀é﻿","a😀é﻿","😀A","a�"]

//// long texts in both directions
const s = "aé€😀".repeat(20000)
const b = new TextEncoder().encode(s)
return [b.length, new TextDecoder().decode(b) === s]
//=> [200000,true]

//// long texts that the engine decodes, or leaves to the prelude
const s = "aé€😀".repeat(50), b = new TextEncoder().encode(s), d = new TextDecoder()
const thrown = (f) => { try { return f() } catch (e) { return e.name } }
return [
  d.decode(b.subarray(10)) === s.slice(5), d.decode(b.buffer) === s,
  d.decode(b.subarray(0, 497)).slice(-2), d.decode(b.subarray(0, 497), {stream: true}) + d.decode(b.subarray(497)) === s,
  d.decode(new TextEncoder().encode("\ufeff" + s)) === s, new TextDecoder("utf-8", {ignoreBOM: true}).decode(new TextEncoder().encode("\ufeff" + s)) === "\ufeff" + s,
  thrown(() => new TextDecoder("utf-8", {fatal: true}).decode(b.subarray(1, 98))),
]
//=> [true,true,"€�",true,true,true,"TypeError"]

//// table base64
btoa("Hello, world") //=> "SGVsbG8sIHdvcmxk"
[btoa(""), btoa("a"), btoa("ab"), btoa("abc"), btoa("\xff\xfe")] //=> ["","YQ==","YWI=","YWJj","//4="]
[atob(""), atob("YQ=="), atob("YWI="), atob("YWJj"), atob("YQ"), atob(" Y W\nI= ")] //=> ["","a","ab","abc","a","ab"]
atob("//4=") === "\xff\xfe" //=> true
btoa("€") //! InvalidCharacterError: btoa: the character at 0 is no byte; encode the text with TextEncoder first
atob("a") //! InvalidCharacterError: …
atob("ab=") //! InvalidCharacterError: …
atob("abc==") //! InvalidCharacterError: …
atob("ab===") //! InvalidCharacterError: …
atob("a=bc") //! InvalidCharacterError: …
atob("YQ=-") //! InvalidCharacterError: …
atob("=") //! InvalidCharacterError: …
atob() //! TypeError: …
[atob(btoa("x".repeat(10000))).length, btoa(null), atob("AAAA").charCodeAt(2)] //=> [10000,"bnVsbA==",0]

//// patched built-ins change nothing
String.prototype.charCodeAt = () => 0; String.fromCharCode = () => "forged"; Array.prototype.push = () => {}
Object.defineProperty(Object.prototype, "0", {set() { throw new Error("setter") }, configurable: true})
String.prototype.toLowerCase = () => "forged"; Uint8Array.prototype.set = () => {}
return [atob("YWJj"), btoa("abc"), new TextDecoder().decode(new TextEncoder().encode("é"))]
//=> ["abc","YWJj","é"]

//// a decoder goes on after a wait
const d = new TextDecoder()
let s = d.decode(new Uint8Array([0xf0, 0x9f]), {stream: true})
await tools.call("echo")
s += d.decode(new Uint8Array([0x98, 0x80]))
return [s, await tools.call("echo", new TextEncoder().encode("ab"))]
//=> ["😀",[97,98]]

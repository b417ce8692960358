// Strings: quadratic searches, huge products, ropes.

//// indexOf of a needle that almost matches everywhere
const s = "a".repeat(2e6)
return s.indexOf("a".repeat(1e6) + "b")
//=> timeout

//// lastIndexOf of a needle that almost matches everywhere
const s = "a".repeat(2e6)
return s.lastIndexOf("b" + "a".repeat(1e6))
//=> timeout | completed -1

//// includes in a loop
const s = "ab".repeat(5e5)
for (;;) s.includes("abac")
//=> timeout

//// split by a needle that almost matches
return "a".repeat(2e6).split("a".repeat(1e6) + "b").length
//=> timeout

//// split into characters
const parts = []
for (;;) parts.push("abcdefgh".repeat(1e4).split(""))
//=> memory_limit_exceeded

//// replaceAll that doubles
let s = "a"
for (;;) s = s.replaceAll("a", "aa")
//=> memory_limit_exceeded | timeout

//// replaceAll of a needle that almost matches
return "a".repeat(2e6).replaceAll("a".repeat(1e6) + "b", "").length
//=> timeout

//// replace patterns that multiply
let s = "x".repeat(1000)
for (;;) s = s.replace(/^.*$/s, "$&$&$&$&")
//=> memory_limit_exceeded | timeout

//// normalize of combining marks
return ("a" + "\u0301\u0323".repeat(5e5)).normalize("NFD").length
//=> timeout

//// localeCompare of combining marks
const s = "a" + "\u0323\u0301".repeat(3e5)
return s.localeCompare(s + "\u0301")
//=> timeout | completed -1

//// repeat beyond the longest string
return "x".repeat(2 ** 30)
//=> memory_limit_exceeded | internal_error

//// repeat of a negative count
return "x".repeat(-1)
//=> internal_error

//// padEnd to the longest string
return "".padEnd(2 ** 29, "ab").length
//=> memory_limit_exceeded

//// String.raw over a huge array-like
return String.raw({ raw: { length: 2 ** 53 - 1 } })
//=> timeout | memory_limit_exceeded

//// concatenation that doubles
let s = "x"
for (;;) s += s
//=> memory_limit_exceeded | internal_error | timeout

//// a rope of a million pieces, flattened again and again
let s = ""
for (let i = 0; ; i++) { s = s + i + "x"; s.charCodeAt(s.length >> 1) }
//=> timeout | memory_limit_exceeded

//// a deep rope, flattened once
let s = ""
for (let i = 0; i < 3e4; i++) s = "a" + s + "b"
return s.length === 6e4 && s.indexOf("ba")
//=> completed -1

//// concat with many arguments
return "".concat(...new Array(6e4).fill("y".repeat(1000))).length
//=> completed 60000000 | memory_limit_exceeded | internal_error

//// trim in a loop
const s = " ".repeat(2e6)
for (;;) s.trim()
//=> timeout

//// numbers from long strings
const s = "1".repeat(4e6)
for (;;) Number(s)
//=> timeout

//// parseFloat of endless zeros
const s = "0.".padEnd(4e6, "0")
for (;;) parseFloat(s)
//=> timeout

//// case mapping in a loop
const s = "\u00df\u0130".repeat(1e6)
for (;;) s.toUpperCase().toLowerCase()
//=> timeout | memory_limit_exceeded

//// encodeURIComponent triples
const s = "\u20ac".repeat(3e6)
return encodeURIComponent(s).length
//=> memory_limit_exceeded | timeout

//// fromCharCode of very many
return String.fromCharCode.apply(null, new Uint16Array(6e4)).length
//=> completed 60000 | internal_error

//// at the edge of 16-bit strings
let s = "\u{1f600}".repeat(1e6)
return [...s].length
//=> completed 1000000 | memory_limit_exceeded

//// toString of a huge array in a loop
const a = new Array(1e6).fill("")
for (;;) a.toString()
//=> timeout | memory_limit_exceeded

// Regular expressions: backtracking, big programs, tampered machinery.

//// nested quantifiers
return /^(a+)+$/.test("a".repeat(40) + "b")
//=> timeout

//// alternatives that overlap
return /^(a|a)*$/.test("a".repeat(40) + "b")
//=> timeout

//// many optional groups
return /^(a?){40}a{40}$/.test("a".repeat(39) + "b")
//=> timeout | completed false

//// backreferences
return /^(a*)*\1$/.test("a".repeat(30) + "b")
//=> timeout | completed false

//// lookahead without end
return /^(?=(a+))*(?:\1)*b$/.test("a".repeat(5e4))
//=> timeout | completed false

//// lookbehind over a long text
const s = "a".repeat(1e5)
return s.replace(/(?<=a*b)a/g, "").length
//=> timeout | completed 100000

//// global search, quadratic
return ("a".repeat(1e5)).match(/a*b/g)
//=> timeout | completed null

//// split by a slow expression
return ("a".repeat(1e5)).split(/a*b/).length
//=> timeout | completed 1

//// a counter of billions
return /(?:a{0,65535}){0,65535}b/.test("a".repeat(1e4))
//=> timeout | internal_error | memory_limit_exceeded | completed false

//// an expression of two hundred thousand words
return new RegExp(Array.from({ length: 2e5 }, (_, i) => "w" + i).join("|")).test("x")
//=> timeout | memory_limit_exceeded | completed false

//// an expression nested too deeply
return new RegExp("(".repeat(1e5) + ")".repeat(1e5)).test("x")
//=> internal_error | memory_limit_exceeded

//// a class of every character, many times
return new RegExp("[\\u{0}-\\u{10ffff}--\\p{L}]".repeat(2000), "v").test("x")
//=> timeout | internal_error | memory_limit_exceeded | completed false

//// property classes, ignoring case
const r = []
for (;;) r.push(new RegExp("\\p{L}\\p{N}\\p{S}" + r.length, "iu"))
//=> timeout | memory_limit_exceeded

//// an exec that never ends a global search
const r = /x/g
r.exec = () => ({ index: 0, 0: "" })
return "abc".replace(r, "y")
//=> timeout | memory_limit_exceeded

//// a lastIndex that never moves
const r = /(?:)/g
Object.defineProperty(r, "lastIndex", { get() { return 0 }, set() {} })
return "abc".match(r)
//=> internal_error

//// a flags getter that recompiles
const r = /a/g
Object.defineProperty(r, "flags", { get() { r.compile("(b)(c)"); return "g" } })
return "abc".replace(r, "$2$1")
//=> completed "acb" | completed "abc" | internal_error | memory_limit_exceeded

//// matchAll kept forever
const kept = []
for (;;) kept.push(...("a".repeat(1e4)).matchAll(/a/g))
//=> memory_limit_exceeded | internal_error

//// a species that lies
class R extends RegExp { static get [Symbol.species]() { return function () { return { exec: () => null, lastIndex: 0 } } } }
return "a,b".split(new R(","))
//=> completed ["a,b"] | internal_error

//// a replacement function that fails the engine's stack
return "a".repeat(10).replace(/a/g, function f() { return f() })
//=> internal_error

//// captures by the hundred thousand
return new RegExp("()".repeat(1e5)).exec("").length
//=> internal_error | completed 100001 | memory_limit_exceeded

// Sources that are expensive to compile, in the worker's own parser or in the engine.

//// parentheses
//expand
return {{repeat 200000 "("}}1{{repeat 200000 ")"}}
//=> internal_error | invalid_input | memory_limit_exceeded | timeout

//// brackets
//expand
return {{repeat 200000 "["}}{{repeat 200000 "]"}}
//=> internal_error | invalid_input | memory_limit_exceeded | timeout

//// arrow functions
//expand
return {{repeat 100000 "a=>"}}1
//=> internal_error | invalid_input | memory_limit_exceeded | timeout

//// arrow functions in TypeScript
//typescript
//expand
return {{repeat 100000 "a=>"}}1
//=> internal_error | invalid_input | memory_limit_exceeded | timeout

//// a sum of a hundred thousand terms
//expand
return {{repeat 100000 "1+"}}1
//=> completed 100001 | internal_error | invalid_input | memory_limit_exceeded | timeout

//// a sum of a hundred thousand terms in TypeScript
//typescript
//expand
return {{repeat 100000 "1+"}}1
//=> completed 100001 | internal_error | invalid_input | memory_limit_exceeded | timeout

//// signs
//expand
return {{repeat 300000 "- "}}1
//=> internal_error | invalid_input | memory_limit_exceeded | timeout

//// blocks
//expand
{{repeat 100000 "{"}}{{repeat 100000 "}"}}
//=> internal_error | invalid_input | memory_limit_exceeded | timeout

//// templates inside templates
//expand
return {{repeat 30000 "`${"}}1{{repeat 30000 "}`"}}
//=> internal_error | invalid_input | memory_limit_exceeded | timeout

//// types inside types
//typescript
//expand
let x: {{repeat 100000 "Array<"}}number{{repeat 100000 ">"}}
return 1
//=> invalid_input | memory_limit_exceeded | timeout | completed 1

//// a conditional type that unfolds
//typescript
type T<N extends any[]> = N["length"] extends 1e9 ? N : T<[...N, ...N, 0]>
let x: T<[]>
return 1
//=> completed 1

//// enums without end
//typescript
//expand
enum E { {{repeat 20000 "a,"}} }
return 1
//=> completed 1 | invalid_input | timeout | memory_limit_exceeded

//// decorators
//typescript
//expand
{{repeat 20000 "@d "}}class A {}
return 1
//=> invalid_input | internal_error | timeout | memory_limit_exceeded

//// a regex of half a megabyte
//expand
return /{{repeat 100000 "(?:a|"}}b{{repeat 100000 ")"}}/.test("x")
//=> internal_error | invalid_input | memory_limit_exceeded | timeout

//// a string of two megabytes
//expand
return "{{repeat 2000000 "x"}}".length
//=> completed 2000000

//// a comment of two megabytes
//expand
/*{{repeat 2000000 "*"}}*/ return 1
//=> completed 1

//// line breaks
//expand
{{repeat 1000000 "\n"}}return 1
//=> completed 1

//// a hundred thousand statements
//expand
let n = 0
{{repeat 100000 "n++;"}}
return n
//=> completed 100000 | timeout | memory_limit_exceeded

//// twenty thousand functions
//expand
{{repeat 20000 "(function(){return 1});"}}
return 1
//=> completed 1 | timeout | memory_limit_exceeded

//// a source that is no program
//expand
{{repeat 10000 "\u0000\ufffd"}}
//=> invalid_input

//// an identifier of a megabyte
//expand
const {{repeat 1000000 "a"}} = 1
return 1
//=> completed 1

//// eval of a hundred thousand locals
return eval("(() => {" + Array.from({ length: 7e4 }, (_, i) => "let v" + i).join(";") + "; return 1 })()")
//=> timeout | internal_error | completed 1 | memory_limit_exceeded

//// eval of twenty thousand closures
return (0, eval)("(() => { let x = 1;" + "(() => x);".repeat(2e4) + " return 1 })()")
//=> timeout | completed 1 | memory_limit_exceeded

//// eval of twenty thousand private names
return (0, eval)("(class {" + Array.from({ length: 2e4 }, (_, i) => "#p" + i + "=1").join(";") + "}, 1)")
//=> timeout | completed 1 | memory_limit_exceeded | internal_error

//// eval of sixty-six thousand arguments
return (0, eval)("Math.max(" + "1,".repeat(66000) + "1)")
//=> internal_error | completed 1

//// eval of a switch of fifty thousand cases
return (0, eval)("(() => { switch (49999) {" + Array.from({ length: 5e4 }, (_, i) => "case " + i + ":").join("") + " return 1 } })()")
//=> completed 1 | timeout | memory_limit_exceeded | internal_error

//// functions from text without end
const kept = []
for (;;) kept.push(new Function("a" + kept.length, "return a" + kept.length))
//=> memory_limit_exceeded | timeout

//// labels inside labels
return (0, eval)(Array.from({ length: 2e4 }, (_, i) => "l" + i + ":").join("") + "1")
//=> timeout | internal_error | completed 1

//// an optional chain of fifty thousand links
return (0, eval)("null" + "?.a".repeat(5e4)) ?? "end"
//=> completed "end" | internal_error | timeout

//// a destructuring pattern nested too deeply
return (0, eval)("(() => { let " + "[".repeat(2e4) + "a" + "]".repeat(2e4) + " = []; })()")
//=> internal_error | timeout

//// a spread of spreads
return (0, eval)("[" + "...[".repeat(2e4) + "]".repeat(2e4) + "]").length
//=> internal_error | completed 0

//// a shebang
//expand
#!/bin/sh
{{repeat 10000 "rm -rf / ;"}}
//=> invalid_input

// More output than anybody wants.

//// text without end
for (;;) text("x".repeat(1000))
//=> output_limit_exceeded | timeout | internal_error | memory_limit_exceeded

//// a hundred thousand texts
for (let i = 0; i < 1e5; i++) text("x".repeat(100))
return 1
//=> output_limit_exceeded

//// ten thousand empty texts
for (let i = 0; i < 1e4; i++) text("")
return 1
//=> output_limit_exceeded

//// one text of twenty megabytes
text("x".repeat(2e7))
return 1
//=> output_limit_exceeded | internal_error | memory_limit_exceeded

//// one value of a megabyte
return "x".repeat(1e6)
//=> output_limit_exceeded

//// json without end
for (;;) json({ a: [1, 2, 3] })
//=> output_limit_exceeded | timeout | internal_error | memory_limit_exceeded

//// console without end
for (;;) console.error("x".repeat(1000))
//=> output_limit_exceeded | timeout | memory_limit_exceeded

//// console, bounded
for (let i = 0; i < 1e4; i++) console.log("x".repeat(1000))
return 1
//=> output_limit_exceeded | completed 1

//// output from a timer
setInterval(() => { for (let i = 0; i < 1000; i++) text("x".repeat(1000)) }, 0)
await new Promise(() => {})
//=> output_limit_exceeded | timeout

//// output after the cell has returned
queueMicrotask(() => { for (let i = 0; i < 1e4; i++) text("late".repeat(100)) })
return 1
//=> output_limit_exceeded | completed 1

//// output in small pieces between calls
for (let i = 0; i < 1000; i++) { text("x".repeat(1000)); await tools.echo({ i }) }
return 1
//=> output_limit_exceeded

//// escapes in text
text("\u0000".repeat(30000))
return 1
//=> output_limit_exceeded

//// text of everything but a string
for (const x of [undefined, null, 1n, Symbol("s"), {}, [], () => {}, new Proxy({}, {}), NaN]) { try { text(x) } catch {} }
return 1
//=> completed 1

//// json of everything but data
for (const x of [undefined, null, 1n, Symbol("s"), () => {}, new WeakMap(), new Proxy([], {}), NaN, Promise.resolve(1)]) { try { json(x) } catch {} }
return 1
//=> completed 1

//// a toString that spins
text({ toString() { for (;;); } })
return 1
//=> timeout | completed 1

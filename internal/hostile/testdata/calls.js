// Bridge calls in floods.

//// five thousand at once
await Promise.all(Array.from({ length: 5000 }, () => tools.echo({})))
//=> invalid_input

//// one more than run and queue
await Promise.all(Array.from({ length: 4017 }, () => tools.echo({})))
//=> invalid_input

//// as many as run and queue
return (await Promise.all(Array.from({ length: 4016 }, (_, i) => tools.echo({ i })))).length
//=> completed 4016

//// calls without end, not awaited
for (;;) tools.echo({})
//=> invalid_input | timeout | internal_error

//// calls without end, one by one
for (;;) await tools.echo({})
//=> waiting | timeout

//// searches without end, not awaited
for (let i = 0; i < 1e5; i++) tools.search("x").catch(() => {})
return 1
//=> completed 1 | invalid_input | internal_error | timeout | memory_limit_exceeded

//// searches without end, one by one
for (;;) await tools.search("echo")
//=> waiting | timeout

//// describes of nothing
for (let i = 0; i < 100; i++) { try { await tools.describe("missing" + i) } catch {} }
return 1
//=> completed 1

//// calls that never answer, awaited
await Promise.all(Array.from({ length: 20 }, () => tools.slow({})))
//=> waiting

//// calls that never answer, in the queue
await Promise.all(Array.from({ length: 200 }, () => tools.slow({})))
//=> waiting

//// a spin while calls are pending
tools.slow({})
for (;;);
//=> timeout

//// a native loop while calls are pending
tools.slow({})
;[].indexOf.call({ length: 2 ** 53 - 1 }, 1)
//=> timeout

//// a spin when an answer comes
await tools.echo({})
for (;;);
//=> timeout

//// a native loop when an answer comes
await tools.echo({})
;[].indexOf.call({ length: 2 ** 53 - 1 }, 1)
//=> timeout

//// memory gone when an answer comes
await tools.echo({})
const a = []
for (;;) a.push(new Array(1000).fill(0))
//=> memory_limit_exceeded

//// arguments of eight megabytes
try { await tools.echo({ a: "x".repeat(9e6) }) } catch (e) { return e.code }
//=> completed "invalid_input" | memory_limit_exceeded

//// arguments of a megabyte, many times
for (let i = 0; i < 20; i++) await tools.echo({ a: "x".repeat(1e6) })
return 1
//=> completed 1 | memory_limit_exceeded

//// arguments of megabytes at once
await Promise.allSettled(Array.from({ length: 100 }, () => tools.echo({ a: "x".repeat(1e6) })))
return 1
//=> completed 1 | memory_limit_exceeded

//// failures that nobody catches
tools.fail({})
return 1
//=> internal_error

//// failures by the hundred, all caught
return (await Promise.allSettled(Array.from({ length: 140 }, () => tools.fail({})))).filter((r) => r.status === "rejected").length
//=> completed 140

//// answers that are larger than memory
//memory 1 MiB
return (await tools.big({})).length
//=> memory_limit_exceeded | internal_error

//// answers that are larger than memory, swallowed
//memory 1 MiB
for (;;) { try { await tools.big({}) } catch {} }
//=> memory_limit_exceeded | waiting | timeout

//// answers that unfold in the guest
const all = []
for (;;) all.push(await tools.big({}))
//=> memory_limit_exceeded

//// a cell that returns while calls run
tools.slow({})
return 1
//=> waiting

//// calls from a rejection handler
Promise.reject(1).catch(() => tools.echo({ late: 1 }))
return 1
//=> completed 1

//// calls after the cell has returned
queueMicrotask(function again() { tools.echo({}).then(again) })
return 1
//=> waiting | completed 1 | timeout | internal_error

//// timers and calls in turn
let n = 0
setInterval(() => { n++ }, 1)
for (let i = 0; i < 50; i++) await tools.echo({ i })
return n >= 0
//=> completed true

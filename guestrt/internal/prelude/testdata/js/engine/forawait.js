// What the engine does otherwise than the language says, so that a change shows.
// docs/internals/rationale.md says what a program should know of it.

//// leaving for await does not wait for the iterator
const log = []
async function* g() { try { yield 1 } finally { log.push("cleaned up") } }
for await (const x of g()) break
log.push("behind the loop")
const early = log.join()
await null
return [early, log.join()]
//=> ["behind the loop","behind the loop,cleaned up"]

//// a return that is called by hand is waited for
const log = []
async function* g() { try { yield 1 } finally { log.push("cleaned up") } }
const it = g()
await it.next()
await it.return()
return log
//=> ["cleaned up"]

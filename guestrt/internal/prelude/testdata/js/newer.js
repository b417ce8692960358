// Standard objects that the engine lacks and the prelude adds.

//// Array.fromAsync reads whatever can be read
async function* gen() { yield 1; yield Promise.resolve(2) }
return [await Array.fromAsync(gen()), await Array.fromAsync([1, Promise.resolve(2)]), await Array.fromAsync(new Set([3])),
	await Array.fromAsync({length: 2, 0: Promise.resolve("a")}), await Array.fromAsync("hé"), await Array.fromAsync([]), await Array.fromAsync(5)]
//=> [[1,2],[1,2],[3],["a",null],["h","é"],[],[]]

//// it maps, one after the other, with an index and a this
const order = []
const list = await Array.fromAsync([3, 2, 1], async function (n, i) { order.push(i); await null; order.push(-i); return n * this.by }, {by: 10})
return [list, order]
//=> [[30,20,10],[0,0,1,-1,2,-2]]

//// mistakes reject
const seen = []
for (const make of [() => Array.fromAsync(), () => Array.fromAsync(null), () => Array.fromAsync([], 1), () => Array.fromAsync([Promise.reject(new Error("no"))]), () => Array.fromAsync({[Symbol.iterator]: () => ({next: () => 1})}), () => Array.fromAsync([1], () => { throw new Error("map") })]) await make().catch((e) => seen.push(e.name + ": " + e.message))
return seen
//=> ["TypeError: Array.fromAsync expects something to read, got undefined","TypeError: Array.fromAsync expects something to read, got null","TypeError: Array.fromAsync expects a function to map with, got number","Error: no","TypeError: the iterator returned number in place of an object","Error: map"]

//// an iterator is closed when the map fails
let closed = 0
async function* gen() { try { yield 1; yield 2 } finally { await null; closed++ } }
const why = await Array.fromAsync(gen(), () => Promise.reject(new Error("map"))).catch((e) => e.message)
return [why, closed]
//=> ["map",1]

//// it makes what it is called on, and is a function like the others
class List extends Array {}
const from = Array.fromAsync, d = Object.getOwnPropertyDescriptor(Array, "fromAsync")
return [(await List.fromAsync([1, 2])) instanceof List, (await List.fromAsync([1, 2])).length, await from([7]), from.name, from.length, d.writable, d.enumerable, d.configurable, "prototype" in from]
//=> [true,2,[7],"fromAsync",1,true,false,true,false]

//// what it collects are own properties
Object.defineProperty = Reflect.defineProperty = () => { throw new Error("forged") }
Array.prototype[Symbol.isConcatSpreadable] = 1
return await Array.fromAsync([1, 2])
//=> [1,2]

//// well-known symbols of disposal
const d = Object.getOwnPropertyDescriptor(Symbol, "dispose")
return [typeof Symbol.dispose, String(Symbol.dispose), String(Symbol.asyncDispose), Symbol.dispose !== Symbol.for("Symbol.dispose"), d.writable, d.enumerable, d.configurable]
//=> ["symbol","Symbol(Symbol.dispose)","Symbol(Symbol.asyncDispose)",true,false,false,false]

//// performance counts from the start of the run and never back
const a = performance.now(), b = performance.now()
return [Number.isInteger(a), a >= 0, b >= a, Math.abs(performance.timeOrigin + a - Date.now()) < 60000, Object.isFrozen(performance), Object.keys(performance)]
//=> [true,true,true,true,true,["now","timeOrigin"]]

//// a guest's Date does not move it
Date.now = () => 0
return performance.now() >= 0
//=> true

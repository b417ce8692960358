// Native loops over arrays and array-likes. None of them polls for an interrupt.

//// indexOf over a huge array-like
return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)
//=> timeout

//// lastIndexOf over a huge array-like
return [].lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)
//=> timeout

//// includes over a huge array-like
return [].includes.call({ length: 2 ** 53 - 1 }, 1)
//=> timeout

//// reverse of a huge array-like
return [].reverse.call({ length: 2 ** 53 - 1 })
//=> timeout

//// join of a huge array-like
return [].join.call({ length: 2 ** 32 - 1 }, "")
//=> timeout | memory_limit_exceeded

//// join with a separator
return [].join.call({ length: 2 ** 31 }, ",").length
//=> timeout | memory_limit_exceeded | internal_error

//// forEach with a native callback
;[].forEach.call({ length: 2 ** 53 - 1 }, Math.abs)
//=> timeout

//// some over nothing but holes
return [].some.call({ length: 2 ** 53 - 1 }, Boolean)
//=> timeout

//// every over nothing but holes
return [].every.call({ length: 2 ** 53 - 1 }, Boolean)
//=> timeout

//// find visits the holes too
return [].find.call({ length: 2 ** 53 - 1 }, Boolean)
//=> timeout

//// findLastIndex from the far end
return [].findLastIndex.call({ length: 2 ** 53 - 1 }, Boolean)
//=> timeout

//// reduce of holes
return [].reduce.call({ length: 2 ** 53 - 1 }, Math.max, 0)
//=> timeout

//// reduceRight of holes
return [].reduceRight.call({ length: 2 ** 53 - 1 }, Math.max, 0)
//=> timeout

//// copyWithin of a huge array-like
return [].copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1)
//=> timeout

//// shift of a huge array-like
return [].shift.call({ length: 2 ** 53 - 1 })
//=> timeout

//// unshift of a huge array-like
return [].unshift.call({ length: 2 ** 53 - 10 }, 1)
//=> timeout

//// splice in the middle of a huge array-like
return [].splice.call({ length: 2 ** 53 - 1 }, 2 ** 20, 1)
//=> timeout

//// slice of a huge array-like
return [].slice.call({ length: 2 ** 32 - 1 }).length
//=> timeout | memory_limit_exceeded

//// concat of a huge spreadable
return [].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }).length
//=> timeout | internal_error

//// fill of a huge array-like
return [].fill.call({ length: 2 ** 53 - 1 }, 0).length
//=> timeout | memory_limit_exceeded

//// sort of a sparse array
const a = []
a.length = 2 ** 32 - 1
a.sort()
return a.length
//=> timeout

//// reverse of a sparse array
const a = [1]
a[2 ** 32 - 2] = 2
a.reverse()
return a[0]
//=> timeout | completed 2

//// flat of a huge array-like
return [].flat.call({ length: 2 ** 53 - 1 }, Infinity).length
//=> timeout

//// flatMap of a huge array-like
return [].flatMap.call({ length: 2 ** 53 - 1 }, Math.abs).length
//=> timeout

//// toSpliced of a sparse array
const a = []
a.length = 2 ** 32 - 1
return a.toSpliced(1, 1).length
//=> timeout | memory_limit_exceeded | internal_error

//// from an array-like
return Array.from({ length: 2 ** 32 - 1 }).length
//=> timeout | memory_limit_exceeded

//// apply with a huge array-like of arguments
return Math.max.apply(null, { length: 2 ** 31 })
//=> timeout | memory_limit_exceeded | internal_error

//// natives of a millisecond each, in a loop
const big = new Array(1e5).fill(1)
for (;;) big.indexOf(2)
//=> timeout | memory_limit_exceeded

//// sorts in a loop
const big = Array.from({ length: 2e4 }, (_, i) => i ^ 0x55)
for (;;) big.slice().sort()
//=> timeout

//// typed array sorts in a loop
const big = new Float64Array(5e5)
for (;;) big.sort()
//=> timeout

//// typed array fill and search in a loop
const big = new Uint8Array(4e6)
for (;;) big.fill(1).indexOf(2)
//=> timeout

//// a comparator that never agrees
return [...Array(3e4).keys()].sort(() => { for (let i = 0; i < 100; i++); return Math.random() - 0.5 }).length
//=> timeout | completed 30000

//// a sort that grows what it sorts
const a = [3, 2, 1]
for (;;) a.sort((x, y) => { a.push(0); return x - y })
//=> timeout | memory_limit_exceeded

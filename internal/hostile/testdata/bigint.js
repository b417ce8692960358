// BigInt: arithmetic whose cost grows faster than its operands.

//// toString of a million digits
return (1n << 1000000n).toString().length
//=> timeout | memory_limit_exceeded | internal_error

//// parse of a million digits
return BigInt("9".repeat(2000000)) > 0n
//=> timeout | memory_limit_exceeded | internal_error

//// division of huge by large
const a = 1n << 4000000n, b = (1n << 2000000n) - 1n
return String(a / b).length
//=> timeout | memory_limit_exceeded | internal_error

//// remainder in a loop
const a = (1n << 100000n) - 1n, b = (1n << 50000n) - 3n
for (;;) a % b
//=> timeout

//// powers of powers
return 2n ** (2n ** 40n)
//=> internal_error | memory_limit_exceeded

//// squares without end
let n = 3n
for (;;) n *= n
//=> timeout | internal_error | memory_limit_exceeded

//// factorial without end
let n = 1n
for (let i = 1n; ; i++) n *= i
//=> timeout | memory_limit_exceeded | internal_error

//// shift by as much as there is
return 1n << (2n ** 62n)
//=> internal_error | memory_limit_exceeded

//// shift by a negative amount
return -1n >> -(2n ** 62n)
//=> internal_error | memory_limit_exceeded

//// asIntN of absurd width
return BigInt.asIntN(2 ** 53 - 1, -1n)
//=> completed "-1"

//// asUintN of absurd width
return BigInt.asUintN(2 ** 53 - 1, -1n)
//=> completed "-1" | internal_error | memory_limit_exceeded

//// literal of a hundred thousand digits
//expand
return {{repeat 100000 "9"}}n > 0n
//=> completed true

//// many of them, kept
const kept = []
for (let i = 0n; ; i++) kept.push((1n << 10000n) + i)
//=> memory_limit_exceeded

//// as the value of a cell
return (1n << 1000000n)
//=> output_limit_exceeded | timeout

//// comparison with strings of digits
const s = "7".repeat(1e5), n = 7n
for (;;) n < s
//=> timeout

//// in base 3
return (1n << 1000000n).toString(3).length
//=> timeout | internal_error

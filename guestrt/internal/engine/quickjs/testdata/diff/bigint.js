//// arithmetic
return [2n ** 64n, -7n / 2n, -7n % 2n, 5n - 10n, 123456789012345678901234567890n * 987654321098765432109876543210n, (1n << 100n) >> 98n, ~5n, -5n & 0xffn, 6n ^ 3n, 6n | 9n].map(String);
//// comparisons and mixing
return [1n < 2, 2 > 1n, 1n == 1, 2n > '1', [3n, 1, 2n, 10].sort((a, b) => (a < b ? -1 : 1)).map(String), (() => { try { return 1n * 1; } catch (e) { return e.message; } })()];
//// conversions
return [String(BigInt('0xff')), BigInt.asUintN(8, 257n), BigInt.asIntN(8, 255n), Number(2n ** 60n), parseInt('12n'), BigInt(true), (255n).toString(16), (-255n).toString(2), BigInt('  12  '), typeof Object(1n)].map(String);
//// factorial
let f = 1n; for (let i = 2n; i <= 100n; i++) f *= i; return String(f);
//// modular power
const pow = (b, e, m) => { let r = 1n; for (b %= m; e; e >>= 1n, b = b * b % m) if (e & 1n) r = r * b % m; return r; }; return String(pow(3n, 10n ** 30n, 10n ** 18n + 9n));
//// errors
return [() => BigInt('x'), () => BigInt(NaN), () => 1n / 0n, () => 2n ** -1n, () => +1n, () => Math.max(1n), () => 1n >>> 0n, () => JSON.stringify(1n), () => BigInt(undefined), () => new BigInt(1)].map(f => { try { return String(f()); } catch (e) { return e.name + ': ' + e.message; } });
//// typed arrays of bigints
const a = new BigInt64Array([1n, -1n, 2n ** 63n]); const u = new BigUint64Array(a.buffer); return [[...a].map(String), [...u].map(String)];
//// as keys
const m = new Map([[1n, 'a'], [1, 'b']]); return [m.get(1n), m.get(1), { [2n]: 'x' }[2], [10, 20][1n], new Set([1n, 1n]).size];

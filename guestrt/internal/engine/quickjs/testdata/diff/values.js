//// literals
return [1, 1.5, -0, 1e21, 0x1f, 0b101, 0o17, 1_000, 'a', "b", `c`, null, undefined, true, /x/g];
//// number formatting
return [0.1 + 0.2, 1 / 3, 1e-7, 123456789012345680000, 5e-324, 1.7976931348623157e308, (255).toString(16), (0.5).toString(2), (1234.5678).toFixed(2), (0).toExponential(3), (123.456).toPrecision(4)];
//// parse numbers
return [parseInt('12px'), parseInt('0x1f'), parseInt('z', 36), parseFloat('3.14abc'), Number(''), Number(' 12 '), Number('1e3'), Number('0b11'), Number('x'), +[], +{}, +[5], Number(null), Number(undefined)];
//// coercion
return [1 + '2', '3' * '4', [] + {}, [] + [], true + true, null + 1, undefined + 1, '5' - 2, [2] * [3], !!'' , !!'0', !![], 1 < 2 < 3, 3 > 2 > 1];
//// equality
return [null == undefined, null === undefined, NaN == NaN, Object.is(NaN, NaN), Object.is(0, -0), '1' == 1, [1] == 1, ({}) == '[object Object]', 1n == 1, 1n === 1, 'a' < 'B', null >= 0, undefined == 0];
//// bit operators
return [5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 31, 1 << 32, -1 >>> 0, -1 >> 1, 2 ** 32 | 0, 1e10 | 0, NaN | 0];
//// typeof
return [typeof 1, typeof 1n, typeof '', typeof undefined, typeof null, typeof {}, typeof [], typeof (() => 1), typeof Symbol(), typeof class {}, typeof undeclared];
//// integer edges
return [2 ** 31, -(2 ** 31), 2 ** 53 + 1, Number.MAX_SAFE_INTEGER + 2, Number.isInteger(5.0), Number.isSafeInteger(2 ** 53), Math.trunc(-1.5), Math.round(-0.5), Math.round(2.5), -7 % 3, 7 % -3, -0 % 1];
//// math
return [Math.max(), Math.min(), Math.max(1, NaN), Math.hypot(3, 4), Math.sign(-3), Math.cbrt(27), Math.fround(5.5), Math.clz32(1), Math.imul(0xffffffff, 5), Math.log2(8), Math.atan2(1, 1), Math.expm1(0), Math.log1p(0)];
//// optional chaining and nullish
const o = { a: { b: null, f() { return this.b; } } };
return [o?.a?.b?.c, o.x?.y.z.w, o.a.f?.(), o.g?.(), o.a.b ?? 'd', 0 ?? 1, 0 || 1, '' && 1, o?.['a']?.['b']];
//// logical assignment
let a = null, b = 0, c = 1; a ??= 5; b ||= 6; c &&= 7; return [a, b, c];
//// comma void delete
const o = { x: 1, y: 2 }; const r = [(1, 2), void 0, delete o.x, 'x' in o, delete o.nope]; return [r, o];
//// exponent associativity
return [2 ** 3 ** 2, (-2) ** 2, 2 ** -1, 0 ** 0, NaN ** 0];
//// increments
let x = 5; const r = [x++, ++x, x--, --x, x]; let s = '5'; s++; return [r, s];
//// template literals
const tag = (s, ...v) => [s.raw, [...s], v]; return [`a${1 + 1}b${'c'}`, tag`x\n${1}y${2}`, `multi
line`, tag`\unicode`];

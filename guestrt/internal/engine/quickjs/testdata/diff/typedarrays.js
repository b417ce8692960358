//// kinds and conversion
return [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array].map(T => [...new T([1.7, -1, 300, 70000, 2 ** 33, NaN])]);
//// shared buffers
const b = new ArrayBuffer(16), f = new Float64Array(b), u = new Uint8Array(b, 8, 4); f[1] = Math.PI; return [[...u], u.byteOffset, u.length, b.slice(8, 12).byteLength, [...new Uint8Array(b).slice(8)]];
//// DataView endianness
const v = new DataView(new ArrayBuffer(12)); v.setInt16(0, -2); v.setInt16(2, -2, true); v.setFloat32(4, 1.5); v.setUint32(8, 0xdeadbeef, true); return [...new Uint8Array(v.buffer), v.getInt16(0), v.getInt16(0, true), v.getUint32(8)];
//// methods
const a = Uint8Array.from([5, 3, 9, 1]); return [[...a.toSorted()], [...a.subarray(1, 3)], a.indexOf(9), a.includes(3), [...a.map(x => x * 2)], [...a.filter(x => x > 2)], a.reduce((x, y) => x + y), a.join('-'), [...a.fill(7, 1, 2)], a.at(-1), [...a.with(0, 8)], [...a.copyWithin(0, 2)], a.findLast(x => x < 8)];
//// out of bounds
const a = new Uint8Array(2); a[5] = 1; a[-1] = 1; a['1.5'] = 2; a.x = 3; return [a[5], Object.keys(a), a.length, 5 in a, delete a[0] === undefined];
//// errors
return [() => new Uint8Array(-1), () => new Uint16Array(new ArrayBuffer(3)), () => new DataView(new ArrayBuffer(1)).getInt16(0), () => new Float64Array(new ArrayBuffer(8), 1), () => Uint8Array(2), () => new ArrayBuffer(-1)].map(f => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } });
//// iteration and destructuring
const [a, , ...rest] = new Int16Array([1, 2, 3, 4]); return [a, rest, Object.entries(new Uint8Array([7])), [...new Uint8Array([1, 2]).entries()]];
//// set and overlapping
const a = new Uint8Array([1, 2, 3, 4, 5]); a.set(a.subarray(0, 3), 1); const b = new Float32Array(3); b.set([1, 2], 1); return [[...a], [...b]];
//// resizable buffers
try { const b = new ArrayBuffer(4, { maxByteLength: 8 }), u = new Uint8Array(b); b.resize(8); return [u.length, b.resizable, b.transfer(2).byteLength, b.detached, u.length]; } catch (e) { return e.name; }
//// float edges
const f = new Float32Array([0.1, 16777217, 1e40, -0, 5e-46]); return [...f];
//// sort with NaN
return [...new Float64Array([3, NaN, -0, 0, -Infinity, 1]).sort()];

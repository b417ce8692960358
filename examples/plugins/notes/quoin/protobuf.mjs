// The part of Protocol Buffers that the Quoin protocol needs: messages made of
// strings, bytes, booleans, whole numbers, other messages, and lists of these.
//
// A message type is a plain object that maps each field's name to its number and
// type:
//
//	const Example = { description: [1, "string"], input: [2, "bytes"] };
//	const Tool    = { name: [1, "string"], examples: [8, Example, "repeated"] };
//
// The third word may also be "optional", for a field whose zero value is not the
// same as none, or "map", for an object of strings.
//
// On the wire a message is a sequence of fields. A field is a key, a varint that
// holds number * 8 + wire type, and a value. Absent fields have the type's zero
// value, and a field that a reader does not know is skipped: this is how the
// protocol grows without breaking anybody.

const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5; // wire types

const zero = { string: "", bytes: Buffer.alloc(0), bool: false, int: 0 };

// encode returns the bytes of a value as a message of the given type. Fields that
// are undefined, or zero, are left out.
export function encode(type, value) {
  const parts = [];
  for (const [name, [number, kind, label]] of Object.entries(type)) {
    const v = value[name];
    if (v === undefined || v === null) continue;
    for (const item of items(label, v)) {
      if (label || !isZero(kind, item)) parts.push(field(number, label === "map" ? Entry : kind, item));
    }
  }
  return Buffer.concat(parts);
}

// Entry is one member of a map, which is a list of these.
const Entry = { key: [1, "string"], value: [2, "string"] };

function items(label, v) {
  if (label === "map") return Object.entries(v).map(([key, value]) => ({ key, value }));
  return label === "repeated" ? v : [v];
}

function isZero(kind, v) {
  return typeof kind === "string" && (v === zero[kind] || kind === "bytes" && v.length === 0);
}

function field(number, kind, v) {
  if (kind === "bool" || kind === "int") {
    return Buffer.concat([varint(number * 8 + VARINT), varint(v)]);
  }
  const body = kind === "string" ? Buffer.from(v) : kind === "bytes" ? v : encode(kind, v);
  return Buffer.concat([varint(number * 8 + BYTES), varint(body.length), body]);
}

// varint writes a whole number seven bits at a time, the lowest first. Negative
// ones are written as their 64-bit complement, in ten bytes.
function varint(v) {
  let rest = BigInt.asUintN(64, BigInt(v));
  const out = [];
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
  return Buffer.from(out);
}

// decode reads a message of the given type. Every field of the type is set; those
// that were absent have their zero value, messages and optional ones undefined.
export function decode(type, bytes) {
  const out = {}, names = new Map();
  for (const [name, [number, kind, label]] of Object.entries(type)) {
    names.set(number, name);
    if (label === "repeated") out[name] = [];
    else if (label === "map") out[name] = {};
    else out[name] = label === "optional" ? undefined : zero[kind];
  }
  const r = new Reader(bytes);
  while (!r.ended()) {
    const key = r.varint();
    const value = r.value(Number(key & 7n));
    const name = names.get(Number(key >> 3n));
    if (name === undefined) continue; // of a newer protocol
    const [, kind, label] = type[name];
    const v = convert(label === "map" ? Entry : kind, value);
    if (label === "repeated") out[name].push(v);
    else if (label === "map") out[name][v.key] = v.value;
    else out[name] = v;
  }
  return out;
}

// convert makes a field's value of what was on the wire: a BigInt or a Buffer.
function convert(kind, value) {
  const number = kind === "bool" || kind === "int";
  if (number !== (typeof value === "bigint")) throw new Error("a field has the wrong wire type");
  if (kind === "bool") return value !== 0n;
  if (kind === "int") return Number(BigInt.asIntN(64, value));
  if (kind === "string") return value.toString();
  return kind === "bytes" ? value : decode(kind, value);
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  ended() { return this.at >= this.bytes.length; }

  varint() {
    let v = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.ended()) break;
      const b = this.bytes[this.at++];
      v |= BigInt(b & 127) << shift;
      if (b < 128) return v;
    }
    throw new Error("a number does not end");
  }

  take(n) {
    if (n > this.bytes.length - this.at) throw new Error("a field is longer than its message");
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }

  value(wireType) {
    switch (wireType) {
      case VARINT: return this.varint();
      case FIXED64: return this.take(8);
      case BYTES: return this.take(Number(this.varint()));
      case FIXED32: return this.take(4);
    }
    throw new Error(`wire type ${wireType} is not one of the protocol's`);
  }
}

// For the tests: prints the table of messages, then for each line of input, which is
// a type's name and a message in hex, the message decoded and encoded again.

import { createInterface } from "node:readline";
import * as messages from "../quoin/messages.mjs";
import { decode, encode } from "../quoin/protobuf.mjs";

const names = new Map(Object.entries(messages).map(([name, type]) => [type, name]));
const kind = (k) => (typeof k === "string" ? k : names.get(k));

console.log(JSON.stringify(Object.fromEntries(Object.entries(messages).map(([name, type]) => [
  name, Object.fromEntries(Object.entries(type).map(([field, t]) => [field, Array.isArray(t) ? [t[0], kind(t[1]), t[2] ?? ""] : t])),
]))));

for await (const line of createInterface({ input: process.stdin })) {
  const [type, hex] = line.split(" ");
  try {
    console.log(encode(messages[type], decode(messages[type], Buffer.from(hex, "hex"))).toString("hex"));
  } catch (e) {
    console.log("error " + e.message);
  }
}

// A check of inputs against the part of JSON Schema that this plugin's tools use.
// The host checks them too; a plugin does it for the sake of hosts that do not,
// and because its own messages can be better.

// problem says what is wrong with a value, or returns undefined.
export function problem(schema, value, at = "the input") {
  const type = typeOf(value);
  if (schema.type && schema.type !== type && !(schema.type === "number" && type === "integer")) {
    return `${at}: expected ${schema.type}, got ${type}`;
  }
  if (schema.enum && !schema.enum.includes(value)) {
    return `${at}: expected one of ${schema.enum.join(", ")}, got ${JSON.stringify(value)}`;
  }
  if (type === "object") return objectProblem(schema, value, at);
  if (type === "array" && schema.items) return first(value, (item, i) => problem(schema.items, item, `${at}[${i}]`));
  if (type === "string") return boundProblem([...value].length, schema.minLength, schema.maxLength, `${at}: the number of characters`);
  if (type === "integer" || type === "number") return boundProblem(value, schema.minimum, schema.maximum, at);
}

function objectProblem(schema, value, at) {
  const path = (name) => (at === "the input" ? name : `${at}.${name}`);
  const known = schema.properties ?? {};
  return first(schema.required ?? [], (name) => (Object.hasOwn(value, name) ? undefined : `${path(name)}: missing`))
    ?? first(Object.keys(value), (name) => {
      if (Object.hasOwn(known, name)) return problem(known[name], value[name], path(name));
      if (schema.additionalProperties === false) return `${path(name)}: unknown field; the fields are ${Object.keys(known).join(", ")}`;
    });
}

function boundProblem(n, least = -Infinity, most = Infinity, what) {
  if (n < least) return `${what}: expected at least ${least}, got ${n}`;
  if (n > most) return `${what}: expected at most ${most}, got ${n}`;
}

// first returns the first problem that check finds.
function first(list, check) {
  for (const [i, item] of list.entries()) {
    const found = check(item, i);
    if (found) return found;
  }
}

function typeOf(v) {
  if (v === null) return "null";
  if (Array.isArray(v)) return "array";
  return Number.isInteger(v) ? "integer" : typeof v;
}

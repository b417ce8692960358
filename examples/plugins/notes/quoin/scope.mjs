// Scopes: what a namespace puts into a program. A scope is an object of plain
// data and of verbs, and travels as a tree of tagged nodes:
//
//	{"kind":"object","entries":{"name": node, …}}     {"kind":"array","items":[node, …]}
//	{"kind":"value","value":plain JSON}               {"kind":"call","tool":"…","mapping":{…}}

// Verb is a callable place in a scope: calling it calls the tool. The mapping says
// how arguments become the tool's input.
class Verb {
  constructor(tool, mapping) {
    this.tool = tool;
    this.mapping = mapping;
  }
}

// verb passes its first argument on as the input; fixed adds fields to it which
// the caller cannot choose.
export const verb = (tool, fixed) => new Verb(tool, fixed && { kind: "default", fixed });

// positional gives the arguments names. With rest, those that are left over become
// an array of that name.
export const positional = (tool, names, { rest, fixed } = {}) =>
  new Verb(tool, { kind: "positional", positional: names, rest, fixed });

// mapped has a function of the plugin, which it names, make the input. The host
// asks for it by MapInput.
export const mapped = (tool, mapper) => new Verb(tool, { kind: "function", mapper });

// tagged returns a scope as the tree that the host reads.
export function tagged(value) {
  if (value instanceof Verb) return { kind: "call", tool: value.tool, mapping: value.mapping };
  if (Array.isArray(value)) return { kind: "array", items: value.map(tagged) };
  if (value === null || typeof value !== "object") return { kind: "value", value };
  const entries = Object.entries(value).map(([key, item]) => [key, tagged(item)]);
  return { kind: "object", entries: Object.fromEntries(entries) };
}

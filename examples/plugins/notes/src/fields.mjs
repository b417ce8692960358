// The fields of inputs and results, as JSON Schemas.

export const limits = { titleCharacters: 200, textCharacters: 1_000_000 };

export const title = { type: "string", minLength: 1, maxLength: limits.titleCharacters, description: "Title of the note, which names it" };
export const text = { type: "string", maxLength: limits.textCharacters, description: "Markdown; words that begin with # are tags" };
export const strings = (description) => ({ type: "array", items: { type: "string", description: "One word" }, description });

// object is the schema of an object without further fields. Fields are required
// unless their names end in "?".
export function object(fields) {
  const names = Object.keys(fields);
  return {
    type: "object",
    additionalProperties: false,
    required: names.filter((n) => !n.endsWith("?")),
    properties: Object.fromEntries(names.map((n) => [n.replace("?", ""), fields[n]])),
  };
}

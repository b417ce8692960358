// The plugin's tools. Each is described for the model and checked against its
// schema before it is called.

import { once } from "node:events";
import { ToolError } from "../quoin/errors.mjs";
import { limits, object, strings, text, title } from "./fields.mjs";

const revision = { type: "integer", description: "Number of the change, which only grows" };
const changed = object({ title, revision });

// tools returns the tools over a store that configure makes later.
export const tools = (store) => [
  {
    name: "notes_put",
    label: "Write a note",
    description: "Writes a note, in place of an earlier one with the same title.",
    idempotent: true,
    parameters: object({ title, text, "ifRevision?": { type: "integer", minimum: 0, description: "Write only if the note is still at this revision; 0 for a new one" } }),
    output: changed,
    examples: [{ description: "A shopping list", input: { title: "Groceries", text: "Milk, bread #shopping" } }],
    call: ({ title, text, ifRevision }, { idempotencyKey }) => store().put(idempotencyKey, title, text, ifRevision),
  },
  {
    name: "notes_append",
    label: "Append to a note",
    description: "Appends lines to a note, which is made if there is none.",
    idempotent: true,
    parameters: object({ title, lines: { type: "array", items: { type: "string", description: "One line" }, description: "Lines to append" } }),
    output: changed,
    examples: [{ description: "Two more things to buy", input: { title: "Groceries", lines: ["Eggs", "Tea"] } }],
    call({ title, lines }, { idempotencyKey }) {
      const before = store().notes.get(title)?.text;
      const all = [...(before === undefined ? [] : [before]), ...lines].join("\n");
      if (all.length > limits.textCharacters && !store().knows(idempotencyKey)) {
        throw new ToolError("too_long", `the note "${title}" would have ${all.length} characters; the limit is ${limits.textCharacters}: begin a new note`,
          { length: all.length, limit: limits.textCharacters });
      }
      return store().put(idempotencyKey, title, all);
    },
  },
  {
    name: "notes_get",
    label: "Read a note",
    description: "Returns a note with its text.",
    readOnly: true,
    parameters: object({ title }),
    output: object({ title, text, revision, modified: { type: "string", description: "When it was last written" } }),
    examples: [{ description: "A note by its title", input: { title: "Groceries" } }],
    call: ({ title }) => store().get(title),
  },
  {
    name: "notes_find",
    label: "Find notes",
    description: "Lists the notes that have all the given words and tags, and none of the words to leave out.",
    readOnly: true,
    parameters: object({ "words?": strings("Words that must occur"), "without?": strings("Words that must not"), "tags?": strings("Tags it must have, without #") }),
    output: { type: "array", items: object({ title, line: { type: "string", description: "The first line that matches" } }) },
    examples: [{ description: "What to buy, but no milk", input: { tags: ["shopping"], without: ["milk"] } }],
    call: find.bind(null, store),
  },
  {
    name: "notes_remove",
    label: "Remove a note",
    description: "Removes a note.",
    idempotent: true,
    parameters: object({ title }),
    output: changed,
    examples: [{ description: "A note by its title", input: { title: "Groceries" } }],
    call: ({ title }, { idempotencyKey }) => store().remove(idempotencyKey, title),
  },
  {
    name: "notes_changes",
    label: "Wait for changes",
    description: "Lists what has changed after a revision. If nothing has, waits until something does.",
    readOnly: true,
    parameters: object({ "since?": { type: "integer", minimum: 0, description: "Revision known to the caller; default 0" } }),
    output: object({ revision, changes: { type: "array", items: object({ title, removed: { type: "boolean", description: "Whether the note is gone" } }) } }),
    examples: [{ description: "Changes after the 7th", input: { since: 7 } }],
    call: changes.bind(null, store),
  },
  {
    name: "notes_export",
    label: "Export all notes",
    description: "Returns all notes as one Markdown text, each under its title.",
    readOnly: true,
    parameters: object({}),
    output: object({ notes: { type: "integer", description: "How many there are" }, markdown: { type: "string", description: "The text" } }),
    examples: [{ description: "Everything", input: {} }],
    call: exported.bind(null, store),
  },
];

async function find(store, { words = [], without = [], tags = [] }, { signal }) {
  const want = [...words, ...tags.map((t) => "#" + t)].map((w) => w.toLowerCase());
  const unwanted = without.map((w) => w.toLowerCase());
  const found = [];
  for (const title of store().titles()) {
    signal.throwIfAborted();
    const { text } = store().notes.get(title) ?? { text: "" };
    const all = `${title}\n${text}`.toLowerCase();
    if (want.every((w) => all.includes(w)) && !unwanted.some((w) => all.includes(w))) {
      const line = text.split("\n").find((l) => want.some((w) => l.toLowerCase().includes(w)));
      found.push({ title, line: line ?? text.split("\n", 1)[0] });
    }
  }
  return found;
}

// changes waits for an event of the store, or for the end of the call: the signal
// makes once reject. Progress tells the program that the wait has begun.
async function changes(store, { since = 0 }, { signal, progress }) {
  if (since > store().state.revision) {
    throw new ToolError("unknown_revision", `there has been no revision ${since}; the newest is ${store().state.revision}`, { newest: store().state.revision });
  }
  while (store().state.revision === since) {
    await Promise.all([once(store(), "change", { signal }), progress({ waitingAt: since })]);
  }
  return store().since(since);
}

// exported reports after every hundredth note, and lets other calls have a turn.
async function exported(store, _, { signal, progress }) {
  const parts = [];
  const titles = store().titles();
  for (const [i, title] of titles.entries()) {
    if (i % 100 === 0) {
      await progress({ notes: i, of: titles.length });
      signal.throwIfAborted();
    }
    const note = store().notes.get(title);
    if (note) parts.push(`# ${title}\n\n${note.text}\n`);
  }
  return { notes: parts.length, markdown: parts.join("\n") };
}

// The plugin's tools. Each is described for the model and checked against its
// schema before it is called.

import { once } from "node:events";
import { ToolError } from "../quoin/errors.mjs";
import { limits, object, strings, text, title } from "./fields.mjs";

const revision = { type: "integer", description: "Number of the change, which only grows" };
const changed = object({ title, revision });

// undo has a change of a note undone, as long as the note is what the change has made of
// it. It compares texts and not revisions: undoing a later change makes a new revision.
function undo({ result, before, after }, { revertBy, irreversible }) {
  if (before === false || after === false) irreversible("the note is too long for its former text to be kept");
  else if (before !== after) revertBy("notes_restore", { title: result.title, from: after, to: before });
  return result;
}

// tools returns the tools over a store that configure makes later.
export const tools = (store) => [
  {
    name: "notes_put",
    label: "Write a note",
    description: "Writes a note, in place of an earlier one with the same title.",
    idempotent: true,
    revertible: true,
    parameters: object({ title, text, "ifRevision?": { type: "integer", minimum: 0, description: "Write only if the note is still at this revision; 0 for a new one" } }),
    output: changed,
    examples: [{ description: "A shopping list", input: { title: "Groceries", text: "Milk, bread #shopping" } }],
    call: ({ title, text, ifRevision }, call) => undo(store().put(call.idempotencyKey, title, text, ifRevision), call),
  },
  {
    name: "notes_append",
    label: "Append to a note",
    description: "Appends lines to a note, which is made if there is none.",
    idempotent: true,
    revertible: true,
    parameters: object({ title, lines: { type: "array", items: { type: "string", description: "One line" }, description: "Lines to append" } }),
    output: changed,
    examples: [{ description: "Two more things to buy", input: { title: "Groceries", lines: ["Eggs", "Tea"] } }],
    call({ title, lines }, call) {
      const { idempotencyKey } = call;
      const before = store().notes.get(title)?.text;
      const all = [...(before === undefined ? [] : [before]), ...lines].join("\n");
      if (all.length > limits.textCharacters && !store().knows(idempotencyKey)) {
        throw new ToolError("too_long", `the note "${title}" would have ${all.length} characters; the limit is ${limits.textCharacters}: begin a new note`,
          { length: all.length, limit: limits.textCharacters });
      }
      return undo(store().put(idempotencyKey, title, all), call);
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
    revertible: true,
    parameters: object({ title }),
    output: changed,
    examples: [{ description: "A note by its title", input: { title: "Groceries" } }],
    call: ({ title }, call) => undo(store().remove(call.idempotencyKey, title), call),
  },
  {
    name: "notes_restore",
    label: "Restore a note",
    description: "Makes a note what it was before a change: undoes notes_put, notes_append and notes_remove. Fails with code conflict if it has changed since.",
    idempotent: true,
    parameters: object({ title, "from?": { ...text, description: "What the note must still be; left out: not there" }, "to?": { ...text, description: "What it becomes; left out: removed" } }),
    output: changed,
    examples: [{ description: "Take back a note", input: { title: "Groceries", from: "Milk" } }],
    call: ({ title, from, to }, { idempotencyKey }) => store().restore(idempotencyKey, title, from, to).result,
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

// Notes in Markdown: a plugin for Quoin in Node.js. The folder quoin/ beside this
// one speaks the protocol and knows nothing of notes.

import { mapped, positional, verb } from "../quoin/scope.mjs";
import { invalidInput } from "../quoin/errors.mjs";
import { serve } from "../quoin/serve.mjs";
import { limits } from "./fields.mjs";
import { pin } from "./pins.mjs";
import { Store } from "./store.mjs";
import { tools } from "./tools.mjs";

let store, host; // from configure on

serve({
  id: "notes",
  version: "1.0.0",
  description: "Notes in Markdown, kept in one file.",

  configure({ maxNotes = 10_000 }, given) {
    if (maxNotes < 1 || maxNotes > 100_000) throw new Error(`maxNotes: expected 1 to 100000, got ${maxNotes}`);
    store = new Store(given.dataDir, maxNotes);
    host = given.host;
  },

  tools: [...tools(() => store), pin(() => store, () => host)],

  namespaces: [{
    id: "notes",
    globalName: "Notes",
    description: "Notes in Markdown.",
    prompt: "Notes.put(title, text), Notes.append(title, ...lines) and Notes.todo(...lines) write; Notes.get(title) reads one; "
      + "Notes.find(\"milk -bread #shopping\") lists those with milk and the tag, without bread; Notes.remove(title); "
      + "Notes.changes({since}) waits for a change; Notes.export(); Notes.pin(title, false?) lists the pinned ones. Notes.titles are the titles there were when the program began.",
    requiredTools: ["notes_put", "notes_append", "notes_get", "notes_find", "notes_remove", "notes_changes", "notes_export", "notes_pin"],

    // The scope is made anew for each run, for the sake of titles. One that is always
    // the same is better given as "scope": then the host need not ask for it.
    createScope: () => ({
      put: positional("notes_put", ["title", "text", "ifRevision"]),
      append: positional("notes_append", ["title"], { rest: "lines" }),
      todo: positional("notes_append", [], { rest: "lines", fixed: { title: "To do" } }),
      get: positional("notes_get", ["title"]),
      find: mapped("notes_find", "query"),
      remove: positional("notes_remove", ["title"]),
      changes: verb("notes_changes"),
      export: verb("notes_export"),
      pin: positional("notes_pin", ["title", "pinned"]),
      titles: store.titles(),
      limits,
    }),

    mappers: { query },
  }],
});

// query turns the argument of Notes.find into the input of notes_find: words, -words
// to leave out, and #tags.
function query(args) {
  const [text, ...more] = args;
  if (typeof text !== "string" || more.length > 0) {
    throw invalidInput("Notes.find takes one string, for example \"milk -bread #shopping\"");
  }
  const input = { words: [], without: [], tags: [] };
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (word.startsWith("-") && word.length > 1) input.without.push(word.slice(1));
    else if (word.startsWith("#") && word.length > 1) input.tags.push(word.slice(1));
    else input.words.push(word);
  }
  return input;
}

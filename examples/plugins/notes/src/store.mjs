// The notes, kept in one JSON file of the plugin's data folder.

import { EventEmitter } from "node:events";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ToolError } from "../quoin/errors.mjs";

const KEYS = 1000; // calls whose outcome is remembered
const KEPT = 8000; // characters of a text that is kept with it

// Store emits "change" after each change. Every change has a revision, a number
// that only grows.
export class Store extends EventEmitter {
  constructor(folder, maxNotes) {
    super();
    this.setMaxListeners(0);
    this.file = join(folder, "notes.json");
    this.maxNotes = maxNotes;
    this.state = { revision: 0, notes: {}, removed: {}, calls: [] };
    try {
      this.state = JSON.parse(readFileSync(this.file, "utf8"));
    } catch (e) {
      if (e.code !== "ENOENT") throw e;
    }
    this.notes = new Map(Object.entries(this.state.notes));
  }

  titles() { return [...this.notes.keys()].sort(); }

  get(title) {
    const note = this.notes.get(title);
    if (!note) throw this.notFound(title);
    return { title, ...note };
  }

  notFound(title) {
    const close = this.titles().filter((t) => overlap(t, title)).slice(0, 3);
    const hint = close.length ? `; did you mean ${close.map((t) => `"${t}"`).join(" or ")}?` : "";
    return new ToolError("not_found", `there is no note "${title}"${hint}`, { title, suggestions: close });
  }

  // apply makes a change of a note, unless a call with the same key has made it: then it
  // returns what that call returned. A host sends a key again when it does not know
  // whether the first attempt took effect. Before and after are the texts of the note,
  // undefined where there is no note, or false where the text is long.
  apply(key, title, change) {
    const known = key && this.state.calls.find((c) => c.key === key);
    if (known) return known;
    const text = () => {
      const now = this.notes.get(title)?.text;
      return now?.length > KEPT ? false : now;
    };
    const before = text();
    const result = change(++this.state.revision);
    const made = { key, before, after: text(), result };
    if (key) this.state.calls.push(made);
    this.state.calls.splice(0, this.state.calls.length - KEYS);
    this.save();
    this.emit("change");
    return made;
  }

  put(key, title, text, ifRevision) {
    const now = this.notes.get(title);
    if (ifRevision !== undefined && (now?.revision ?? 0) !== ifRevision && !this.knows(key)) throw this.conflict(title);
    if (!now && this.notes.size >= this.maxNotes && !this.knows(key)) {
      throw new ToolError("full", `there are ${this.maxNotes} notes already; remove one first`, { limit: this.maxNotes });
    }
    return this.apply(key, title, (revision) => {
      this.notes.set(title, { text, revision, modified: new Date().toISOString() });
      delete this.state.removed[title];
      return { title, revision };
    });
  }

  conflict(title) {
    const revision = this.notes.get(title)?.revision ?? 0;
    return new ToolError("conflict", `the note "${title}" has changed: it is at revision ${revision}; read it again`, { title, revision });
  }

  // restore gives a note a text back, as long as it has the other one.
  restore(key, title, from, to) {
    if (this.notes.get(title)?.text !== from && !this.knows(key)) throw this.conflict(title);
    return to === undefined ? this.remove(key, title) : this.put(key, title, to);
  }

  remove(key, title) {
    if (!this.knows(key)) this.get(title);
    return this.apply(key, title, (revision) => {
      this.notes.delete(title);
      this.state.removed[title] = revision;
      return { title, revision };
    });
  }

  knows(key) { return key !== "" && this.state.calls.some((c) => c.key === key); }

  // since lists what has changed after a revision.
  since(revision) {
    const changed = [...this.notes].filter(([, n]) => n.revision > revision).map(([title]) => ({ title, removed: false }));
    const removed = Object.entries(this.state.removed).filter(([, r]) => r > revision).map(([title]) => ({ title, removed: true }));
    return { revision: this.state.revision, changes: [...changed, ...removed] };
  }

  // save replaces the file in one step: after a crash there is the old one or the
  // new one.
  save() {
    this.state.notes = Object.fromEntries(this.notes);
    const next = this.file + ".new";
    const f = openSync(next, "w", 0o600);
    try {
      writeFileSync(f, JSON.stringify(this.state));
      fsyncSync(f);
    } finally {
      closeSync(f);
    }
    renameSync(next, this.file);
  }
}

// overlap reports whether two titles have a word in common.
function overlap(a, b) {
  const words = new Set(a.toLowerCase().split(/\s+/));
  return b.toLowerCase().split(/\s+/).some((w) => words.has(w));
}

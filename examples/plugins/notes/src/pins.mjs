// Pinned notes. Their list is small, so that it can be left to the host to keep.

import { ToolError } from "../quoin/errors.mjs";
import { object, title } from "./fields.mjs";

const KEY = "pinned";
const ATTEMPTS = 10;

// pin returns the tool that pins notes, over a store and a host.
export const pin = (store, host) => ({
  name: "notes_pin",
  label: "Pin a note",
  description: "Pins a note, or with pinned false unpins it, and lists those that are pinned.",
  idempotent: true,
  parameters: object({ title, "pinned?": { type: "boolean", description: "Default true" } }),
  output: object({ pinned: { type: "array", items: { type: "string", description: "Title" }, description: "The pinned notes" } }),
  examples: [{ description: "Unpin a note", input: { title: "Groceries", pinned: false } }],

  // Another call may write between this one's reading and writing: then the revision
  // is not the one that was read, and the change is made again.
  async call({ title, pinned = true }, { signal }) {
    if (pinned) store().get(title);
    for (let i = 0; i < ATTEMPTS; i++) {
      signal.throwIfAborted();
      try {
        return { pinned: await change(host(), title, pinned) };
      } catch (e) {
        if (e.code === "no_host_service") throw new ToolError("no_pins", "this host keeps nothing for plugins, so that notes cannot be pinned");
        if (e.code !== "storage_conflict") throw e;
      }
    }
    throw new ToolError("busy", "others pin notes all the time; try again", undefined, { retryable: true });
  },
});

async function change(host, title, pinned) {
  const entry = await host.get(KEY);
  const titles = new Set(entry ? JSON.parse(entry.value) : []);
  if (pinned) titles.add(title);
  else titles.delete(title);
  await host.set(KEY, Buffer.from(JSON.stringify([...titles])), entry?.revision ?? 0);
  return [...titles];
}

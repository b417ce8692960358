// The bounds of this run. They are set once, before guest code runs.

import type { Caps } from "./convert";
import type { Config } from "./native";

/** Bounds of a value, an argument list or the output of one turn. */
export const caps: Caps = {
  __proto__: null,
  nodes: 1_000_000,
  depth: 200,
  bytes: 8 << 20,
  entries: 0,
  chars: 0,
} as any;

/** Output items in one turn. */
export let maxOutputItems = 10_000;

/** Bridge calls issued and not settled; far above what any host runs or queues. */
export const maxPending = 4096;

/** Values that results.save keeps; their bytes together are bounded as one value's. */
export const maxResults = 64;

/** Characters of a tool id or name, and of a search query. */
export const maxToolName = 1024;
export const maxQuery = 8192;

/** Takes the limits that the host set; a missing one keeps its default. */
export function setLimits(limits: NonNullable<Config["limits"]>): void {
  if (limits.maxNodes! > 0) caps.nodes = limits.maxNodes!;
  if (limits.maxDepth! > 0) caps.depth = limits.maxDepth!;
  if (limits.maxValueBytes! > 0) caps.bytes = limits.maxValueBytes!;
  if (limits.maxOutputItems! > 0) maxOutputItems = limits.maxOutputItems!;
}

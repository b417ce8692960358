// What a plugin can ask of its host, in protocol version 2: to keep values under
// keys. The host opens one stream for it, on which the plugin sends requests and the
// host replies, each to the request of the same number.

import { Failure } from "./errors.mjs";
import { HostReply, HostRequest, Kind } from "./messages.mjs";
import { decode, encode } from "./protobuf.mjs";

// Host is the host as plugins see it. Its methods fail with a Failure whose code is
// one of storage_invalid, storage_conflict, storage_full, storage_failed, and
// no_host_service.
export class Host {
  constructor() {
    this.waiting = new Map(); // by number: what to do with the reply
    this.last = 0;
    this.over = false; // the host is gone
    this.open = new Promise((resolve) => { this.opened = resolve; });
  }

  // serve answers the method HostServices. The stream lasts as long as the host.
  async serve(call) {
    this.opened(call);
    try {
      for await (const message of call) {
        const reply = decode(HostReply, message);
        this.waiting.get(reply.number)?.(reply);
      }
    } finally {
      this.over = true;
      for (const settle of this.waiting.values()) settle({ error: gone });
    }
  }

  // without says that the host does not have services, being of an older version.
  without() { this.opened(undefined); }

  async ask(request) {
    const call = await this.open;
    if (!call || this.over) throw failure(gone);
    const number = ++this.last;
    const reply = await new Promise((resolve) => {
      this.waiting.set(number, resolve);
      call.send(encode(HostRequest, { number, ...request }));
    });
    this.waiting.delete(number);
    if (reply.error) throw failure(reply.error);
    return reply;
  }

  // get returns { value, revision } of a key, or undefined. Values are Buffers.
  async get(key) { return (await this.ask({ get: { key } })).entry; }

  // set gives a key a value and returns its new revision. With a revision it fails
  // with storage_conflict unless the key still has that one; 0 stands for no entry.
  async set(key, value, revision) { return (await this.ask({ set: { key, value, revision } })).entry.revision; }

  async delete(key, revision) { await this.ask({ delete: { key, revision } }); }

  // list returns { keys, more }: the keys with a prefix beyond a given one.
  async list(prefix = "", after = "", limit = 0) { return (await this.ask({ list: { prefix, after, limit } })).keys; }
}

const gone = { kind: Kind.PROCESS, code: "no_host_service", message: "the host has no services, or is gone" };

const failure = ({ kind, code, message, retryable, effect }) => new Failure(kind, code, message, { retryable, effect });

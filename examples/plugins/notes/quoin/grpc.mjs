// gRPC over node:http2, the server's side.
//
// A call is an HTTP/2 stream: POST /<service>/<method>, messages in both
// directions, and the outcome in trailers after the plugin's last message. A
// message on the wire is a byte that says whether it is compressed (never here),
// its length in four bytes, and its content.

import { createSecureServer } from "node:http2";

// Status are the gRPC codes used here. A status other than OK means that the
// transport failed; failures that mean something to the host are messages.
export const Status = { OK: 0, INVALID_ARGUMENT: 3, RESOURCE_EXHAUSTED: 8, UNIMPLEMENTED: 12, INTERNAL: 13 };

// StatusError ends a call with a status.
export class StatusError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// grpcServer returns a server that is not listening yet. Its methods are
// functions by path, such as "/plugin.GRPCController/Shutdown": each gets a Call
// and ends the call by returning.
export function grpcServer(tls, methods, limits) {
  const server = createSecureServer({
    ...tls,
    requestCert: true,
    rejectUnauthorized: true,
    settings: { initialWindowSize: limits.window },
    // What one connection may hold in memory: Node's default, 10 MB, is less than
    // one message of the largest size.
    maxSessionMemory: 256,
  });
  server.on("session", (session) => {
    session.setLocalWindowSize(limits.window);
    session.on("error", () => {}); // a host that is gone; its streams end as well
  });
  server.on("stream", (stream, headers) => serveStream(stream, headers, methods, limits));
  return server;
}

async function serveStream(stream, headers, methods, limits) {
  stream.on("error", () => {}); // the stream is closed then, which is what counts
  const method = methods[headers[":path"]];
  const call = new Call(stream, headers, limits);
  if (!method) return call.end(Status.UNIMPLEMENTED, `there is no method ${headers[":path"]}`);
  try {
    await method(call);
    call.end(Status.OK);
  } catch (e) {
    call.end(e instanceof StatusError ? e.status : Status.INTERNAL, String(e.message));
  }
}

// Call is one gRPC call. Its messages are read by iterating over it.
class Call {
  constructor(stream, headers, limits) {
    this.stream = stream;
    this.limits = limits;
    this.timeout = milliseconds(headers["grpc-timeout"]);
    this.responded = false;
    this.ended = false;
    // signal is aborted when the host gives the call up, or is gone.
    const controller = new AbortController();
    this.signal = controller.signal;
    const abandon = () => {
      if (!this.ended) controller.abort(new Error("the call was cancelled"));
    };
    stream.once("aborted", abandon);
    stream.once("close", abandon);
  }

  // The messages of the host, as Buffers.
  async *[Symbol.asyncIterator]() {
    let have = [], size = 0;
    for await (const chunk of this.stream.iterator({ destroyOnReturn: false })) {
      have.push(chunk);
      size += chunk.length;
      while (size >= 5) {
        const head = have[0].length >= 5 ? have[0] : (have = [Buffer.concat(have)])[0];
        const length = head.readUInt32BE(1);
        if (head[0] !== 0) throw new StatusError(Status.UNIMPLEMENTED, "compressed messages are not understood");
        if (length > this.limits.message) {
          throw new StatusError(Status.RESOURCE_EXHAUSTED, `a message has ${length} bytes; the limit is ${this.limits.message}`);
        }
        if (size < 5 + length) break;
        const all = Buffer.concat(have);
        yield all.subarray(5, 5 + length);
        have = [all.subarray(5 + length)];
        size -= 5 + length;
      }
    }
  }

  // only returns the message of a call that has exactly one.
  async only() {
    for await (const message of this) return message;
    throw new StatusError(Status.INVALID_ARGUMENT, "the call has no message");
  }

  // send sends one message and waits until there is room for another.
  async send(message) {
    if (this.ended || !this.stream.writable) return;
    this.respond();
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    this.stream.write(head);
    if (this.stream.write(message)) return;
    await new Promise((resolve) => {
      const go = () => {
        this.stream.off("drain", go);
        this.signal.removeEventListener("abort", go);
        resolve();
      };
      this.stream.on("drain", go);
      this.signal.addEventListener("abort", go);
    });
  }

  respond() {
    if (this.responded) return;
    this.responded = true;
    this.stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  }

  // end ends the call. Whatever the host still sends of it is not read.
  end(status, message = "") {
    if (this.ended) return;
    this.ended = true;
    if (!this.stream.writable) return;
    this.stream.once("wantTrailers", () => {
      this.stream.sendTrailers({ "grpc-status": String(status), "grpc-message": encodeURIComponent(message) });
    });
    this.respond();
    this.stream.end();
  }
}

// milliseconds reads a grpc-timeout header: a number and a unit. Without one the
// call has all the time there is.
function milliseconds(header) {
  const parts = /^(\d{1,8})([HMSmun])$/.exec(header ?? "");
  if (!parts) return Infinity;
  return Number(parts[1]) * { H: 3600e3, M: 60e3, S: 1e3, m: 1, u: 1e-3, n: 1e-6 }[parts[2]];
}

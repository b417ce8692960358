// The life of a plugin process: it is started by a host, says on standard output
// where it listens, answers calls, and ends when the host wants it to or is gone.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { makeCertificate, pem } from "./certificate.mjs";
import { grpcServer } from "./grpc.mjs";
import { lastWords, log } from "./log.mjs";
import { methods, Service } from "./service.mjs";

const SPOKEN = [2, 1]; // versions of the protocol, the best first
const MESSAGE = 16 << 20; // bytes of the largest message
const WINDOW = 1 << 20; // bytes that may be sent before they are read
const GRACE = 2000; // milliseconds that calls may go on when the host stops the plugin

// serve hands the process over to the host. See Service for what a plugin is.
export function serve(plugin) {
  const { env } = process;
  if (env.QUOIN_PLUGIN !== "4e9d1f6c-quoin-plugin") {
    process.stderr.write(`${plugin.id} ${plugin.version} is a plugin for Quoin and is started by a Quoin host.\n`);
    process.exit(1);
  }
  process.on("uncaughtException", lastWords);
  process.on("SIGINT", () => {}); // meant for the host, whose terminal this is

  const service = new Service(plugin);
  const stop = stopper(service, plugin);
  // The host holds the other end of standard input and never writes to it, so its
  // end is the host's.
  process.stdin.on("end", stop).on("error", stop).resume();

  const { key, certificate } = makeCertificate();
  const tls = { key, cert: pem(certificate), ca: env.PLUGIN_CLIENT_CERT };
  const server = grpcServer(tls, methods(service, stop), { message: MESSAGE, window: WINDOW });
  const socket = join(env.PLUGIN_UNIX_SOCKET_DIR, "s" + randomBytes(4).toString("hex"));
  server.listen(socket, () => {
    const unpadded = certificate.toString("base64").replace(/=+$/, "");
    // 1 is the version of this line itself.
    process.stdout.write(`1|${version(env.PLUGIN_PROTOCOL_VERSIONS)}|unix|${socket}|grpc|${unpadded}\n`);
  });
}

// version picks the best version that the host speaks too. If there is none, the
// host shall say so: it knows whom to tell.
function version(offered = "") {
  const theirs = offered.split(",").map(Number);
  return SPOKEN.find((v) => theirs.includes(v)) ?? SPOKEN.at(-1);
}

// stopper returns a function that ends the process once: running calls get a
// while to end by themselves.
function stopper(service, plugin) {
  let stopping = false;
  return async () => {
    if (stopping) return;
    stopping = true;
    const left = await service.drain(GRACE);
    if (left > 0) log.warn("stopping while calls are running", { calls: left });
    try {
      await plugin.close?.();
    } catch (e) {
      log.error("closing the plugin", { error: String(e) });
    }
    process.exit(0);
  };
}

// AutoMTLS: host and plugin each make a certificate for themselves at every
// start, and trust exactly the other's. The host's is in PLUGIN_CLIENT_CERT; the
// plugin's goes into the handshake line.
//
// Node makes keys and signatures, but no certificates. An X.509 certificate is a
// tree of DER values, each a tag, a length and a content, and the one needed here
// is small enough to be written by hand.

import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

// der returns one DER value.
function der(tag, ...content) {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), derLength(body.length), body]);
}

// derLength writes lengths below 128 as they are; others as the number of bytes
// that follow, and these.
function derLength(n) {
  if (n < 128) return Buffer.from([n]);
  return n < 256 ? Buffer.from([0x81, n]) : Buffer.from([0x82, n >> 8, n & 255]);
}

const sequence = (...content) => der(0x30, ...content);
const integer = (bytes) => der(0x02, bytes);
const utf8 = (text) => der(0x0c, Buffer.from(text));
const bitString = (bytes) => der(0x03, Buffer.from([0]), bytes); // 0 unused bits
const utcTime = (t) => der(0x17, Buffer.from(t.toISOString().replace(/[-:T]|\.\d+/g, "").slice(2)));

// oid writes an object identifier. The encoded forms of the few that are needed
// are given in hex.
const oid = (hex) => der(0x06, Buffer.from(hex, "hex"));
const COMMON_NAME = oid("550403"); // 2.5.4.3
const SUBJECT_ALT_NAME = oid("551d11"); // 2.5.29.17
const ECDSA_WITH_SHA256 = sequence(oid("2a8648ce3d040302")); // 1.2.840.10045.4.3.2

const DAY = 24 * 60 * 60 * 1000;

// makeCertificate returns a fresh private key and a certificate that it has
// signed itself. The host looks for the name "localhost" in it.
export function makeCertificate() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const serial = randomBytes(16);
  serial[0] = serial[0] & 0x7f | 0x40; // positive, and without a leading zero
  const name = sequence(der(0x31, sequence(COMMON_NAME, utf8("localhost"))));
  const names = sequence(der(0x82, Buffer.from("localhost"))); // one dNSName
  const toBeSigned = sequence(
    der(0xa0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    ECDSA_WITH_SHA256,
    name, // of the issuer
    sequence(utcTime(new Date(Date.now() - DAY)), utcTime(new Date(Date.now() + 3650 * DAY))),
    name, // of the subject
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(SUBJECT_ALT_NAME, der(0x04, names)))),
  );
  const certificate = sequence(toBeSigned, ECDSA_WITH_SHA256, bitString(sign("sha256", toBeSigned, privateKey)));
  return { key: privateKey.export({ type: "pkcs8", format: "pem" }), certificate };
}

// pem wraps a certificate in the text form that node:tls reads.
export function pem(certificate) {
  const lines = certificate.toString("base64").match(/.{1,64}/g).join("\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

// Package mutualtls lets processes talk over TLS that know each other by their keys.
//
// # Nouns
//
// An Identity is a key of one's own, with a certificate to present it. A Fingerprint names
// a key.
//
// # Lifecycle
//
// You make a key with New and keep its text, or derive it with FromSecret in every
// process that shares the secret. Identity.TLS is the configuration of client and server.
//
// # Concurrency
//
// Everything may be used from any goroutine.
//
// # Failure
//
// A handshake with a key that is not accepted fails with ErrStranger, on both sides.
//
// # Trust
//
// No authority signs the certificates, and no one looks at their dates and names. The key
// is the whole identity: the handshake proves that the other side has it. With FromSecret
// all who have the secret are one identity, and cannot be told apart.
package mutualtls

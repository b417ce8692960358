// Package wire is the language a host and its guest workers speak: plain data
// types and the framed binary codec that carries them over one socket.
package wire

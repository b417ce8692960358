package wire

import (
	"errors"
	"os"
)

// Pipes is one side of the connection between a host and a worker: a pipe each way. Who
// reads from a pipe wakes no thread. Who reads from a socket wakes the thread that waits
// at its other end, because there is room again: twice in each call of a tool.
type Pipes struct{ From, To *os.File }

// Read reads what the other side has written.
func (p Pipes) Read(b []byte) (int, error) { return p.From.Read(b) }

// Write writes what the other side is to read.
func (p Pipes) Write(b []byte) (int, error) { return p.To.Write(b) }

// Close ends both pipes.
func (p Pipes) Close() error { return errors.Join(p.From.Close(), p.To.Close()) }

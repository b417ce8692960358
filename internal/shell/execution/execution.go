package execution

import (
	"context"
	"io"
)

// Command is what a Launcher starts.
type Command struct {
	// Argv is the program, as an absolute path, and its arguments.
	Argv []string
	// Dir is the working directory, as an absolute path.
	Dir string
	// Env is the whole environment, as "NAME=value".
	Env []string
	// Terminal gives the process a terminal of this size. Nil gives it pipes.
	Terminal *Size
	// Network allows the process to reach what the host's configuration lets pass.
	// Launchers without a sandbox do not look at it.
	Network bool
}

// Size is the size of a terminal, in characters.
type Size struct{ Columns, Rows uint16 }

// Launcher starts commands. Its methods may be called from any goroutine.
type Launcher interface {
	// Start starts a command. ctx bounds the start and nothing else. An error means
	// that nothing runs.
	Start(ctx context.Context, c Command) (Process, error)
}

// Process is a command that runs, with all its descendants. Its methods may be called
// from any goroutine, Read from one. The caller reads until io.EOF, or calls Kill, and
// then calls Wait.
type Process interface {
	// PID is the number of the first process on its machine.
	PID() int
	// Read returns what the process writes to its standard output and its standard
	// error, or to its terminal, in the order in which it writes. It is io.EOF once the
	// first process has ended and what the others have written until then is read.
	io.Reader
	// Write writes to the standard input or the terminal. It may block until the
	// process reads, and fails once the process has ended.
	io.Writer
	// CloseInput ends the standard input; one that has ended is left so. On a terminal it
	// types Ctrl-D.
	CloseInput() error
	// Resize changes the size of the terminal. Without one it is an error.
	Resize(Size) error
	// Interrupt asks the process and its descendants to end, as by SIGTERM.
	Interrupt()
	// Kill ends the process and all its descendants, wherever they have gone. It
	// returns once all are gone.
	Kill()
	// Wait waits for the end of the first process, ends the descendants that are left,
	// and says how it ended. An error means that this cannot be known.
	Wait() (Exit, error)
}

// Exit is how a process has ended.
type Exit struct {
	// Code is the exit status; -1 when a signal ended the process.
	Code int
	// Signal names the signal that ended the process, as "SIGKILL"; empty without one.
	Signal string
	// Reason says, for a person, why the host has ended the process: a limit that it
	// exceeded. Empty when the host has not.
	Reason string
}

package guestrt

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

// dead returns a process that is dead, in the middle of a conversation, and the end of the
// connection by which it has spoken.
func dead(t *testing.T) (p *process, theirs *os.File) {
	t.Helper()
	from, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	hosts, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hosts.Close(); theirs.Close() })
	p = &process{stream: wire.Pipes{From: from, To: to}, talk: make(chan struct{}, 1)}
	p.talk <- struct{}{}
	return p, theirs
}

// TestLastWordsAreRead: a worker that says why it ends may be dead before the host has
// read it.
func TestLastWordsAreRead(t *testing.T) {
	p, theirs := dead(t)
	closed := make(chan struct{})
	go func() { p.closeStream(); close(closed) }()
	if _, err := io.WriteString(theirs, "why"); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if said, err := io.ReadAll(p.stream); err != nil || string(said) != "why" {
		t.Errorf("read %q, %v", said, err)
	}
	<-p.talk
	<-closed
}

// TestADescendantKeepsNoConversationGoing: it could hold the connection of a dead worker.
func TestADescendantKeepsNoConversationGoing(t *testing.T) {
	p, _ := dead(t)
	go p.closeStream()
	if said, err := io.ReadAll(p.stream); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read %q, %v, want the end of the conversation", said, err)
	}
}

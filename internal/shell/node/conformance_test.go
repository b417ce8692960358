//go:build linux

package node

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/internal/shell/launchtest"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// byNumber is on both ends of a connection. A command of the suite waits here, and its
// number goes over the connection as the command line: what a node lets through and what
// a shell makes of it is tested elsewhere.
type byNumber struct {
	node *Node

	mu       sync.Mutex
	commands []execution.Command
}

// Start is the gateway's end.
func (b *byNumber) Start(ctx context.Context, c execution.Command) (execution.Process, error) {
	b.mu.Lock()
	b.commands = append(b.commands, c)
	number := len(b.commands) - 1
	b.mu.Unlock()
	return b.node.Launcher(Job{Line: "number " + strconv.Itoa(number)}).Start(ctx, execution.Command{Terminal: c.Terminal})
}

// nodeEnd is the node's end.
type nodeEnd struct{ *byNumber }

func (b nodeEnd) Start(ctx context.Context, c execution.Command) (execution.Process, error) {
	_, number, _ := strings.Cut(c.Argv[len(c.Argv)-1], " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	full := b.commands[n]
	b.mu.Unlock()
	if (full.Terminal == nil) != (c.Terminal == nil) || c.Terminal != nil && *full.Terminal != *c.Terminal {
		return nil, errors.New("another terminal has come over the connection")
	}
	return launch.New().Start(ctx, full)
}

func TestConformance(t *testing.T) {
	b := &byNumber{}
	_, b.node = enrolled(t, nodeEnd{b}, func(s *settings.Settings) { full(s); s.MaxProcesses = 100 })
	launchtest.Run(t, launchtest.Host{Launcher: b, Dir: t.TempDir()})
}

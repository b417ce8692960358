package node

import (
	"context"
	"encoding/gob"
	"errors"
	"os"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/launchtest"
)

// byFile is the gateway's end of the suite: a command waits in a file. The file's name goes
// over the connection as the command line. What a node lets through and what a shell makes of
// it is tested elsewhere.
type byFile struct {
	node *Node
	dir  string
}

func (b byFile) Start(ctx context.Context, c execution.Command) (execution.Process, error) {
	f, err := os.CreateTemp(b.dir, "command")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(gob.NewEncoder(f).Encode(c), f.Close()); err != nil {
		return nil, err
	}
	return b.node.Launcher(Job{Line: f.Name()}).Start(ctx, execution.Command{Terminal: c.Terminal})
}

// ofSuite is the node's end.
type ofSuite struct{ execution.Launcher }

func (o ofSuite) Start(ctx context.Context, c execution.Command) (execution.Process, error) {
	f, err := os.Open(c.Argv[len(c.Argv)-1])
	if err != nil {
		return nil, err
	}
	full := execution.Command{}
	if err := errors.Join(gob.NewDecoder(f).Decode(&full), f.Close()); err != nil {
		return nil, err
	}
	full.Terminal = c.Terminal
	return o.Launcher.Start(ctx, full)
}

func TestConformance(t *testing.T) {
	launchtest.Run(t, launchtest.Host{Launcher: byFile{local(t, full, suiteEnv+"=1"), t.TempDir()}, Dir: t.TempDir()})
}

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// setting is where a part runs, and what it finds.
type setting struct {
	ctx      context.Context
	found    plugins.Candidate
	declared Declaration
	config   json.RawMessage
	examples bool // may be called
	timeout  time.Duration
	scratch  string // folder for the part alone

	storage  counted
	calls    atomic.Int64
	problems []string
	missing  []string
}

func newSetting(ctx context.Context, dir string, o *Options) (*setting, error) {
	if o == nil {
		o = &Options{}
	}
	s := &setting{ctx: ctx, found: plugins.Find(dir), config: o.Config, examples: !o.SkipExamples, timeout: o.CallTimeout}
	if s.timeout <= 0 {
		s.timeout = 30 * time.Second
	}
	declared, err := o.declaration(dir)
	if err != nil {
		return nil, err
	}
	s.declared = *declared
	if s.config == nil {
		s.config = declared.Config
	}
	s.scratch, err = os.MkdirTemp(scratchRoot(), "qx")
	return s, err
}

func (s *setting) options() plugins.Options {
	return plugins.Options{
		DataDir:      filepath.Join(s.scratch, "data"),
		RunDir:       filepath.Join(s.scratch, "run"),
		Config:       s.config,
		OpenStorage:  func(string, func(error)) protocol.Storage { return &s.storage },
		Logger:       slog.New(slog.DiscardHandler),
		StartTimeout: s.timeout,
		CallTimeout:  s.timeout,
		CloseTimeout: s.timeout,
	}
}

func (s *setting) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// notExercised records what could not be looked at, and why.
func (s *setting) notExercised(format string, args ...any) {
	s.missing = append(s.missing, fmt.Sprintf(format, args...))
}

// bounded is the context of one call.
func (s *setting) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, s.timeout)
}

// scratchRoot is the temporary directory, or /tmp where that one has a path too long
// for the address of a socket some levels below it.
func scratchRoot() string {
	const longest = 20
	if root := os.TempDir(); len(root) <= longest || os.PathSeparator != '/' {
		return root
	}
	return "/tmp"
}

// counted is a plugin's storage that lasts as long as a part, and counts requests.
type counted struct {
	pluginstorage.Memory
	asked atomic.Int64
}

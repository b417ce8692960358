package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// Options tune the suite. A nil *Options means all defaults.
type Options struct {
	// Config is the plugin's configuration. Defaults to the declaration's, else
	// to nil.
	Config json.RawMessage
	// Declaration names what the suite can use of the plugin. Defaults to what
	// the file conformance.json in the plugin's folder says, if there is one.
	Declaration *Declaration
	// SkipExamples keeps the suite from calling read-only tools with their
	// examples, for plugins that need a service which tests do not have.
	SkipExamples bool
	// CallTimeout bounds each call, and how long the plugin may take to end.
	// Defaults to 30 s.
	CallTimeout time.Duration
}

// Report is what came of an examination.
type Report struct {
	// Parts are the parts, in the order they were run.
	Parts []Result
}

// Result is what came of one part.
type Result struct {
	// Name says what was asked.
	Name string `json:"name"`
	// Problems are what is wrong with the plugin, each in one line.
	Problems []string `json:"problems,omitempty"`
	// NotExercised is what the part would have looked at, had the plugin offered
	// or declared it.
	NotExercised []string `json:"notExercised,omitempty"`
}

// Problems returns the problems of all parts, each with its part's name.
func (r *Report) Problems() []string {
	var all []string
	for _, part := range r.Parts {
		for _, p := range part.Problems {
			all = append(all, part.Name+": "+p)
		}
	}
	return all
}

// Check examines the plugin in dir, the folder that holds its plugin.json and its
// built command. The error says why it could not be examined, or not to the end;
// the report has what was found until then.
func Check(ctx context.Context, dir string, o *Options) (*Report, error) {
	report := &Report{}
	for _, part := range Parts() {
		r, err := part.Run(ctx, dir, o)
		report.Parts = append(report.Parts, r)
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// Part is one question put to a plugin.
type Part struct {
	// Name says what is asked.
	Name string

	process func(*exam)          // of a plugin that package plugins has started
	wire    func(*wireExam)      // of a process that this package has started
	start   func(*setting) error // of the start itself
}

// Parts returns the suite.
func Parts() []Part { return append([]Part(nil), parts...) }

// Run examines the plugin in dir in this one respect.
func (p Part) Run(ctx context.Context, dir string, o *Options) (r Result, err error) {
	r.Name = p.Name
	s, err := newSetting(ctx, dir, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.scratch)) }()
	switch {
	case p.process != nil:
		err = s.withProcess(p.process)
	case p.wire != nil:
		err = s.withWire(p.wire)
	default:
		err = p.start(s)
	}
	r.Problems, r.NotExercised = s.problems, s.missing
	return r, err
}

// withProcess runs a part against a plugin that was started as hosts do it.
func (s *setting) withProcess(part func(*exam)) error {
	p, err := plugins.Start(s.ctx, s.found, s.options())
	if err != nil {
		return err
	}
	part(&exam{setting: s, process: p})
	if err := p.Close(); err != nil {
		s.problem("closing the plugin: %v", err)
	}
	return nil
}

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

// scratchRoot is the temporary directory, or /tmp where that one has a path too long
// for the address of a socket some levels below it.
func scratchRoot() string {
	const longest = 20
	if root := os.TempDir(); len(root) <= longest || os.PathSeparator != '/' {
		return root
	}
	return "/tmp"
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

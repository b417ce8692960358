package conformance

import (
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

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

// withWire runs a part against a process that is connected and configured.
func (s *setting) withWire(part func(*wireExam)) error {
	l, err := s.launch(strconv.Itoa(s.found.Manifest.Protocol))
	if l != nil {
		defer l.process.Close()
	}
	if err != nil {
		return err
	}
	conn := l.process.Conn
	e := &wireExam{setting: s, launched: l, conn: conn, client: protocol.NewClient(conn), rpc: protocolpb.NewPluginClient(conn)}
	if err := e.examine(part); err != nil {
		return err
	}
	e.process.Close()
	e.judgeLog()
	return nil
}

package guestserver

import (
	"errors"
	"fmt"
	"io"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// Config says what a worker is made of.
type Config struct {
	// Open builds the engine; the build id is stamped into its images.
	Open func(buildID [32]byte) (engine.Engine, error)
	// Seal confines the process and reports its layers. It is called once,
	// after Open and before the first cell.
	Seal func() []wire.Layer
	// LimitMemory bounds the process for a guest of that many bytes. It is
	// called before every guest.
	LimitMemory func(bytes uint64) error
}

// protocolError says that the host broke the protocol.
type protocolError struct{ Cause error }

// Error describes what was wrong.
func (e *protocolError) Error() string { return fmt.Sprintf("host: %v", e.Cause) }

// Unwrap returns the cause.
func (e *protocolError) Unwrap() error { return e.Cause }

// sealError says that the host requires isolation which the worker lacks. The
// worker has read nothing but the host's Hello.
type sealError struct{ Cause error }

var errUnsealed = errors.New("a required layer is missing")

// Error describes what happened.
func (e *sealError) Error() string { return fmt.Sprintf("sandbox: %v", e.Cause) }

// Unwrap returns the cause.
func (e *sealError) Unwrap() error { return e.Cause }

// Serve holds the worker's end of a conversation until the host closes it, and
// then returns nil. Every other end is an error: a *ProtocolError if the host
// is to blame, a *SealError if it requires more isolation than there is.
func Serve(rw io.ReadWriter, c Config) error {
	s := &server{conn: wire.NewConn(wire.Host, rw), config: c}
	err := s.hello()
	for err == nil {
		err = s.next()
	}
	if s.guest != nil {
		err = errors.Join(err, s.guest.discard())
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// server is one worker. It is used by one goroutine.
type server struct {
	config Config
	conn   *wire.Conn
	engine engine.Engine
	ready  *wire.Ready
	guest  *guest // nil without a guest
}

// hello opens the conversation. The engine is warm before the seal, because it
// may read system files once.
func (s *server) hello() error {
	m, err := s.conn.Receive()
	if err != nil {
		return receiveError(err)
	}
	h, ok := m.(*wire.Hello)
	if !ok {
		return &protocolError{fmt.Errorf("said %v before Hello", m.Type())}
	}
	if !wire.Spoken(h.Version) {
		return s.unavailable(fmt.Sprintf("the host speaks protocol %d, this guest worker %d: use the worker built with the host", h.Version, wire.Version))
	}
	if s.engine, err = s.config.Open(h.BuildID); err != nil {
		return s.unavailable("the guest engine did not start: " + err.Error())
	}
	s.ready = &wire.Ready{Version: h.Version, EngineID: s.engine.ID(), Layers: s.config.Seal()}
	if h.Required {
		if missing := sandbox.Lacking(s.ready.Layers); missing != nil {
			return &sealError{errors.Join(s.conn.Send(fault(wire.CodeRuntimeUnavailable, "", sandbox.Explain("required", missing))), errUnsealed)}
		}
	}
	return s.conn.Send(s.ready)
}

// unavailable says why the worker cannot work, and ends it.
func (s *server) unavailable(why string) error {
	return errors.Join(s.conn.Send(fault(wire.CodeRuntimeUnavailable, "", why)), io.EOF)
}

// next serves one message.
func (s *server) next() error {
	m, err := s.conn.Receive()
	if err != nil {
		return receiveError(err)
	}
	switch m := m.(type) {
	case *wire.Start:
		return s.report(s.start(m))
	case *wire.Turn:
		return s.report(s.turn(m))
	case *wire.Snapshot:
		return s.snapshot(m)
	case *wire.Restore:
		return s.restore(m)
	case *wire.Reset:
		return s.reset()
	default:
		return &protocolError{fmt.Errorf("said %v, which fits nowhere here", m.Type())}
	}
}

func receiveError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return &protocolError{err}
}

// report sends a report, or the fault that stands in its place.
func (s *server) report(r *wire.Report, f *wire.Fault) error {
	if f != nil {
		return s.conn.Send(f)
	}
	if s.ready.Version < wire.FirstWithTraces {
		r.Trace = nil // an earlier host knows no traces
	}
	var large *wire.TooLargeError
	err := s.conn.Send(r)
	if errors.As(err, &large) {
		return s.conn.Send(overflow(r, large))
	}
	return err
}

// overflow replaces a report that is too large to be sent: the run has failed,
// its requests have not left the guest, and a part of its output is kept.
func overflow(r *wire.Report, e *wire.TooLargeError) *wire.Report {
	kept := *r
	kept.Status, kept.Value, kept.Requests, kept.Pending = wire.StatusFailed, nil, nil, 0
	kept.TimerMillis = -1
	kept.Err = &wire.GuestError{
		Name:    "Error",
		Message: fmt.Sprintf("one turn produced %d bytes of calls, output and value, at most %d are allowed; pass less data in one step", e.Bytes, e.Max),
		Code:    wire.CodeOutputLimit,
		Phase:   wire.PhaseGuest,
	}
	room := keptOutput
	for i, o := range r.Output {
		if room -= len(o.JSON); room < 0 {
			kept.Output = r.Output[:i]
			break
		}
	}
	return &kept
}

// keptOutput is how many bytes of output survive an overflow.
const keptOutput = 16 << 20

func (s *server) snapshot(m *wire.Snapshot) error {
	if s.guest == nil {
		return &protocolError{errors.New("asked for a snapshot without a guest")}
	}
	limit := wire.MaxImage
	if m.MaxBytes > 0 {
		limit = int(min(uint64(limit), m.MaxBytes))
	}
	image, err := s.guest.image(limit)
	var large *engine.TooLargeError
	if errors.As(err, &large) {
		return s.conn.Send(fault(wire.CodeSnapshotLimit, "", fmt.Sprintf(
			"the suspended program needs %d bytes, at most %d are allowed; keep less data in variables across yield_control or long waits", large.Bytes, limit)))
	}
	if err != nil {
		return s.conn.Send(unable("the guest could not be suspended", err))
	}
	return s.conn.Send(&wire.Image{Data: image})
}

func (s *server) restore(m *wire.Restore) error {
	if s.guest != nil {
		return &protocolError{errors.New("asked for a restore while a guest lives")}
	}
	if f := s.limit(m.Limits); f != nil {
		return s.conn.Send(f)
	}
	g, err := restoreGuest(s.engine, m.Image, m.Limits, s.file)
	if errors.Is(err, engine.ErrMemory) {
		return s.conn.Send(unable("", err))
	}
	if err != nil {
		return s.conn.Send(fault(wire.CodeInvalidInput, wire.ReasonSnapshotRestore, "the suspended program cannot be restored: "+err.Error()))
	}
	s.guest = g
	return s.conn.Send(&wire.Restored{})
}

// limit prepares the process for a guest with limits l.
func (s *server) limit(l wire.Limits) *wire.Fault {
	if err := s.config.LimitMemory(l.Filled().MemoryBytes); err != nil {
		return fault(wire.CodeInternal, "", "the worker's memory cannot be limited: "+err.Error())
	}
	return nil
}

func (s *server) reset() error {
	if s.guest != nil {
		if err := s.guest.discard(); err != nil {
			return err
		}
		s.guest = nil
	}
	return s.conn.Send(s.ready)
}

func fault(code, reason, message string) *wire.Fault {
	return &wire.Fault{Code: code, Reason: reason, Message: message}
}

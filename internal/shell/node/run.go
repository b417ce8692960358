package node

import (
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quoinhq/quoin/internal/mutualtls"
	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
	"github.com/quoinhq/quoin/internal/text"
)

// lostGrace is how long a process whose gateway is gone has to end by itself.
const lostGrace = 2 * time.Second

// drainTime is how long a gateway may take to read what a killed process has written.
const drainTime = 10 * time.Second

// Start runs a job for as long as its stream lives.
func (s *Server) Start(stream nodepb.Node_StartServer) error {
	start, job, err := receiveStart(stream)
	if err != nil {
		return err
	}
	gateway := caller(stream.Context())
	release, err := s.take(gateway)
	if err != nil {
		return err
	}
	defer release()
	d, err := s.policy.decide(job)
	if err != nil {
		s.options.Log.Warn("a command was refused", "gateway", gateway.Name, "reason", err)
		return failure(err)
	}
	terminal := sizeOf(start.GetTerminal())
	process, err := s.options.Launcher.Start(stream.Context(), execution.Command{
		Argv: d.argv, Dir: d.dir, Env: s.policy.environment(job, d.dir, terminal != nil), Terminal: terminal, Network: start.GetNetwork(),
	})
	if err != nil {
		return failure(err)
	}
	log := s.options.Log.With("gateway", gateway.Name, "pid", process.PID())
	log.Info("a command runs", "approval", start.GetApproval().GetId(), "dir", d.dir)
	r := &running{stream: stream, process: process, writes: make(chan []byte, 1), killed: make(chan struct{}), done: make(chan struct{}), noInput: d.listed && terminal != nil}
	lost, err := r.serve(s, gateway, d.dir)
	select {
	case <-r.done:
		log.Info("a command has ended", "code", r.exit.Code, "signal", r.exit.Signal, "reason", r.exit.Reason, "lost", lost)
	default:
		log.Info("a command was killed", "lost", lost)
	}
	return err
}

// receiveStart reads and checks the first input.
func receiveStart(stream nodepb.Node_StartServer) (*nodepb.StartRequest, Job, error) {
	first, err := stream.Recv()
	if err != nil {
		return nil, Job{}, err
	}
	start := first.GetStart()
	if start == nil {
		return nil, Job{}, status.Error(codes.InvalidArgument, "the first input is not start")
	}
	job, err := jobOf(start.GetJob())
	if err == nil && len(start.GetApproval().GetId()) > maxNameBytes {
		err = errors.New("the id of the approval is too long")
	}
	if t := start.GetTerminal(); err == nil && t != nil && sizeOf(t) == nil {
		err = errors.New("the terminal has no size that a terminal can have")
	}
	if err != nil {
		return nil, Job{}, status.Error(codes.InvalidArgument, err.Error())
	}
	if a := start.GetApproval(); a != nil {
		job.Approval = &Approval{ID: a.GetId(), Subject: a.GetSubject(), Remembered: a.GetRemembered()}
	}
	return start, job, nil
}

// sizeOf is the size of a terminal, or nil if it is not one.
func sizeOf(m *nodepb.Size) *execution.Size {
	c, r := m.GetColumns(), m.GetRows()
	if c == 0 || r == 0 || c > math.MaxUint16 || r > math.MaxUint16 {
		return nil
	}
	return &execution.Size{Columns: uint16(c), Rows: uint16(r)}
}

// running is a process of a gateway with the stream that it lives as long as.
type running struct {
	stream  nodepb.Node_StartServer
	process execution.Process

	noInput bool // a pager, for one, would take commands that are not on the list

	sending sync.Mutex
	writes  chan []byte   // at most one waits
	kill    sync.Once     // closes killed
	killed  chan struct{} // closed when the gateway kills the process, or breaks the rules
	done    chan struct{} // closed once nothing of the process is left

	exit execution.Exit // once done is closed
}

// serve passes the bytes on until nothing of the process is left. lost reports that the
// gateway has gone before that.
func (r *running) serve(s *Server, gateway *Gateway, dir string) (lost bool, err error) {
	go r.receive()
	go r.write()
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		if f, err := mutualtls.ParseFingerprint(gateway.Fingerprint); err == nil {
			s.options.Home.awaitRemoval(r.stream.Context(), f)
		}
	}()
	sent := make(chan error, 1)
	go func() { sent <- r.output(dir) }()
	select {
	case err := <-sent:
		return false, err
	case <-r.killed:
		r.process.Kill()
		select {
		case err = <-sent:
		case <-time.After(drainTime):
			err = status.Error(codes.DeadlineExceeded, "the output of the killed process is not read")
		}
		return false, err
	case <-removed:
	}
	r.end()
	return true, status.Error(codes.Aborted, "the gateway is gone, or no longer enrolled")
}

// end ends the process of a gateway that is gone. It does not wait for output, which may
// wait for a gateway that does not read.
func (r *running) end() {
	r.process.Interrupt()
	select {
	case <-r.done:
	case <-time.After(lostGrace):
		r.process.Kill()
	}
}

// send sends an output. Several goroutines do.
func (r *running) send(o *nodepb.Output) error {
	r.sending.Lock()
	defer r.sending.Unlock()
	return r.stream.Send(o)
}

// output sends what the process writes, and how it ends. It reads to the end even when no
// one takes it, so that the process can end.
func (r *running) output(dir string) error {
	sent := r.send(&nodepb.Output{Of: &nodepb.Output_Started{Started: &nodepb.Started{Pid: int64(r.process.PID()), Dir: dir}}})
	for buffer := make([]byte, maxWriteBytes); ; {
		n, err := r.process.Read(buffer)
		if n > 0 && sent == nil {
			sent = r.send(&nodepb.Output{Of: &nodepb.Output_Data{Data: buffer[:n]}})
		}
		if err != nil {
			break
		}
	}
	if sent == nil {
		sent = r.send(&nodepb.Output{Of: &nodepb.Output_EndOfOutput{EndOfOutput: &nodepb.EndOfOutput{}}})
	}
	exit, err := r.process.Wait()
	r.exit = exit
	close(r.done)
	if sent != nil {
		return sent
	}
	m := &nodepb.Exit{Code: int32(exit.Code), Signal: exit.Signal, Reason: text.Printable(text.Shorten(exit.Reason, maxMessageBytes))}
	if err != nil {
		m.Error = message(err)
	}
	return r.send(&nodepb.Output{Of: &nodepb.Output_Exit{Exit: m}})
}

// receive does what the gateway wants, until the stream ends. Nothing that it does waits
// for the process, so that a kill always comes through.
func (r *running) receive() {
	for {
		in, err := r.stream.Recv()
		if errors.Is(err, io.EOF) {
			// The gateway has nothing more to say, and may still read.
			return
		}
		if err != nil {
			return // the context of the stream has ended, too
		}
		if !r.obey(in) {
			r.kill.Do(func() { close(r.killed) })
			return
		}
	}
}

// obey does one thing. It returns false if the process has to be killed: because the
// gateway says so, or because it breaks the rules.
func (r *running) obey(in *nodepb.Input) bool {
	switch of := in.GetOf().(type) {
	case *nodepb.Input_Write:
		if len(of.Write) == 0 || len(of.Write) > maxWriteBytes {
			return false
		}
		select {
		case r.writes <- of.Write:
		default: // the one before is not answered
			return false
		}
	case *nodepb.Input_CloseInput:
		_ = r.process.CloseInput() // fails when the process has ended, which the gateway is told
	case *nodepb.Input_Resize:
		size := sizeOf(of.Resize)
		if size == nil {
			return false
		}
		_ = r.process.Resize(*size) // likewise, or it has no terminal, which the gateway knows
	case *nodepb.Input_Interrupt:
		r.process.Interrupt()
	default: // kill, and what this version does not know
		return false
	}
	return true
}

// errNoInput is about input for a terminal that no person has approved.
var errNoInput = errors.New("the command has a terminal, and is allowed by the node's allow-list alone: it takes no input")

func (r *running) input(data []byte) (int, error) {
	if r.noInput {
		return 0, errNoInput
	}
	return r.process.Write(data)
}

// write passes on what the gateway has for the standard input.
func (r *running) write() {
	for {
		select {
		case <-r.done:
			return
		case data := <-r.writes:
			n, err := r.input(data)
			m := &nodepb.Written{Bytes: uint32(n)}
			if err != nil {
				m.Error = message(err)
			}
			if r.send(&nodepb.Output{Of: &nodepb.Output_Written{Written: m}}) != nil {
				return
			}
		}
	}
}

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
	"github.com/quoinhq/quoin/internal/text"
)

// process is a process on a node.
type process struct {
	node   *Node
	stream nodepb.Node_StartClient
	cancel context.CancelFunc // of the stream
	pid    int
	term   bool

	sending sync.Mutex
	writing sync.Mutex // one write at a time waits for its answer
	written chan *nodepb.Written

	data   chan []byte   // output that Read has not taken yet
	rest   []byte        // what Read has not returned yet
	ended  chan struct{} // closed at the end of the output
	kill   sync.Once     // closes killed
	killed chan struct{}
	gone   chan struct{} // closed when the stream has ended; exit and err are set then
	exit   execution.Exit
	err    error
}

// maxUnread is how many chunks of output wait for Read. Like the buffer of a pipe, they let
// a Write end whose answer comes after output that it has caused.
const maxUnread = 8

// Start runs a job. ctx bounds the start and nothing else. An error means that nothing
// runs.
func (n *Node) Start(ctx context.Context, j Job, terminal *execution.Size, network bool) (execution.Process, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	request := &nodepb.StartRequest{Job: j.message(), Network: network}
	if j.Approval != nil {
		request.Approval = &nodepb.Approval{Id: j.Approval.ID, Subject: j.Approval.Subject, Remembered: j.Approval.Remembered}
	}
	if terminal != nil {
		request.Terminal = sizeMessage(*terminal)
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	p, err := n.start(life, cancel, request)
	if !stop() && err == nil {
		p.Kill()
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return p, nil
}

// start opens the stream and waits until the process runs.
func (n *Node) start(life context.Context, cancel context.CancelFunc, request *nodepb.StartRequest) (*process, error) {
	stream, err := n.client.Start(life)
	if err != nil {
		return nil, n.failure(err)
	}
	if err := stream.Send(&nodepb.Input{Of: &nodepb.Input_Start{Start: request}}); err != nil && !errors.Is(err, io.EOF) {
		return nil, n.failure(err)
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, n.failure(err)
	}
	if first.GetStarted() == nil {
		return nil, fmt.Errorf("node %s answers what is not in the protocol", n.enrolment.Name)
	}
	p := &process{
		node: n, stream: stream, cancel: cancel, pid: int(first.GetStarted().GetPid()), term: request.Terminal != nil,
		written: make(chan *nodepb.Written, 1), data: make(chan []byte, maxUnread), ended: make(chan struct{}),
		killed: make(chan struct{}), gone: make(chan struct{}),
	}
	go p.receive()
	return p, nil
}

func sizeMessage(s execution.Size) *nodepb.Size {
	return &nodepb.Size{Columns: uint32(s.Columns), Rows: uint32(s.Rows)}
}

// errLost is about a process whose connection is lost.
var errLost = errors.New("the connection to the node is lost, and the process is ended there")

// errProtocol is about a node that breaks the rules.
var errProtocol = errors.New("the node answers what is not in the protocol")

// receive takes what the node sends until the stream ends.
func (p *process) receive() {
	exit, err := p.receiveAll()
	if err != nil {
		p.err = fmt.Errorf("node %s: %w", p.node.enrolment.Name, err)
	}
	p.exit = exit
	p.cancel()
	close(p.gone)
}

func (p *process) receiveAll() (exit execution.Exit, err error) {
	for output := true; ; {
		m, err := p.stream.Recv()
		if err != nil {
			return exit, fmt.Errorf("%w: %w", errLost, p.node.failure(err))
		}
		switch of := m.GetOf().(type) {
		case *nodepb.Output_Data:
			if !output {
				return exit, errProtocol
			}
			select {
			case p.data <- of.Data:
			case <-p.killed:
			}
		case *nodepb.Output_Written:
			select {
			case p.written <- of.Written:
			default:
				return exit, errProtocol
			}
		case *nodepb.Output_EndOfOutput:
			if !output {
				return exit, errProtocol
			}
			output = false
			close(p.ended)
		case *nodepb.Output_Exit:
			if e := of.Exit.GetError(); e != "" {
				return exit, errors.New(text.Printable(text.Shorten(e, maxMessageBytes)))
			}
			return execution.Exit{Code: int(of.Exit.GetCode()), Signal: short(of.Exit.GetSignal()), Reason: short(of.Exit.GetReason())}, nil
		default:
			return exit, errProtocol
		}
	}
}

// short bounds a text of a node that a person reads.
func short(s string) string { return text.Printable(text.Shorten(s, maxNameBytes)) }

func (p *process) PID() int { return p.pid }

func (p *process) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		select {
		case p.rest = <-p.data:
			continue
		default:
		}
		select {
		case p.rest = <-p.data:
		case <-p.ended: // what came before it is in data
			if len(p.data) == 0 {
				return 0, io.EOF
			}
		case <-p.killed:
			return 0, io.EOF
		case <-p.gone:
			if len(p.data) == 0 {
				return 0, p.atEnd()
			}
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// atEnd is what Read and Write return once the stream has ended.
func (p *process) atEnd() error {
	if p.err != nil {
		return p.err
	}
	return io.EOF
}

func (p *process) send(in *nodepb.Input) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := p.stream.Send(in); err != nil {
		return errEnded
	}
	return nil
}

// errEnded is about input for a process that has ended.
var errEnded = errors.New("the process has ended")

func (p *process) Write(b []byte) (total int, err error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	for len(b) > 0 {
		chunk := b[:min(len(b), maxWriteBytes)]
		if err := p.send(&nodepb.Input{Of: &nodepb.Input_Write{Write: chunk}}); err != nil {
			return total, err
		}
		select {
		case m := <-p.written:
			n := int(min(uint32(len(chunk)), m.GetBytes()))
			total += n
			if n < len(chunk) {
				return total, errors.New(text.Printable(text.Shorten("the input was not taken: "+m.GetError(), maxMessageBytes)))
			}
		case <-p.gone:
			return total, errEnded
		}
		b = b[len(chunk):]
	}
	return total, nil
}

func (p *process) CloseInput() error {
	err := p.send(&nodepb.Input{Of: &nodepb.Input_CloseInput{CloseInput: &nodepb.CloseInput{}}})
	if errors.Is(err, errEnded) {
		return nil // and its input has ended with it
	}
	return err
}

func (p *process) Resize(s execution.Size) error {
	if !p.term {
		return errors.New("the process has no terminal")
	}
	return p.send(&nodepb.Input{Of: &nodepb.Input_Resize{Resize: sizeMessage(s)}})
}

func (p *process) Interrupt() {
	_ = p.send(&nodepb.Input{Of: &nodepb.Input_Interrupt{Interrupt: &nodepb.Interrupt{}}}) // it fails when the process has ended
}

// killTime is how long the node has to say that a killed process is gone. Then the stream
// is ended, which kills the process too.
const killTime = 30 * time.Second

func (p *process) Kill() {
	p.kill.Do(func() {
		close(p.killed)
		if p.send(&nodepb.Input{Of: &nodepb.Input_Kill{Kill: &nodepb.Kill{}}}) != nil {
			p.cancel()
		}
	})
	select {
	case <-p.gone:
	case <-time.After(killTime):
		p.cancel()
		<-p.gone
	}
}

func (p *process) Wait() (execution.Exit, error) {
	<-p.gone
	return p.exit, p.err
}

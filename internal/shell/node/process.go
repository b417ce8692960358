package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// process is a process on a node.
type process struct {
	link     *link
	pid      int
	terminal bool

	writing sync.Mutex // one write at a time waits for its answer
	written chan written

	output, received *os.File      // a pipe: what a process of this machine would write to
	kill             sync.Once     // sends the order
	gone             chan struct{} // closed when the connection has ended; exit and err are set then
	exit             execution.Exit
	err              error
}

func newProcess(l *link, pid int, terminal bool) (*process, error) {
	output, received, err := os.Pipe()
	if err != nil {
		l.close()
		return nil, err
	}
	p := &process{link: l, pid: pid, terminal: terminal, written: make(chan written, 1), output: output, received: received, gone: make(chan struct{})}
	go p.receive()
	go p.stayInTouch()
	return p, nil
}

// errLost is the error of a process when its connection is lost.
var errLost = fmt.Errorf("the connection is lost, and the process is ended there within %v; its output until then is all there is: run the command again", maxSilence)

// receive takes what the node sends until the process or the connection has ended.
func (p *process) receive() {
	exit, err := p.receiveAll()
	switch {
	case isEnd(err):
		err = fmt.Errorf("%w (%w)", errLost, p.link.end())
	default:
		p.link.close()
	}
	if err != nil {
		err = p.link.node.failed(err)
	}
	p.exit, p.err = exit, err
	close(p.gone)
	_ = p.received.Close() // it may be closed already
}

func (p *process) receiveAll() (execution.Exit, error) {
	for {
		var r report
		if err := p.link.receive(&r); err != nil {
			return execution.Exit{}, err
		}
		switch {
		case len(r.Data) > 0:
			_, _ = p.received.Write(r.Data) // fails once no one reads
		case r.Written != nil:
			select {
			case p.written <- *r.Written:
			default:
				return execution.Exit{}, errProtocol
			}
		case r.EndOfOutput:
			_ = p.received.Close()
		case r.Exit != nil:
			return execution.Exit{Code: r.Exit.Code, Signal: message(r.Exit.Signal), Reason: message(r.Exit.Reason)}, nil
		case r.Failure != nil:
			return execution.Exit{}, r.Failure.error()
		default:
			return execution.Exit{}, errProtocol
		}
	}
}

// stayInTouch tells the node that the gateway is still there.
func (p *process) stayInTouch() {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = p.link.send(order{}) // fails when the connection has ended, which receive sees
		case <-p.gone:
			return
		}
	}
}

func (p *process) PID() int { return p.pid }

func (p *process) Read(b []byte) (int, error) {
	n, err := p.output.Read(b)
	if err == nil {
		return n, nil
	}
	if !errors.Is(err, io.EOF) {
		return n, io.EOF // Kill or Wait has closed it
	}
	select {
	case <-p.gone:
		if p.err != nil {
			return 0, p.err
		}
	default:
	}
	return 0, io.EOF
}

// errEnded is about input for a process that has ended.
var errEnded = errors.New("the process has ended")

func (p *process) Write(b []byte) (total int, err error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	for len(b) > 0 {
		chunk := b[:min(len(b), maxWriteBytes)]
		if p.link.send(order{Write: chunk}) != nil {
			return total, errEnded
		}
		w, ok := p.answer()
		if !ok {
			return total, errEnded
		}
		n := min(len(chunk), max(w.Bytes, 0))
		total += n
		if n < len(chunk) {
			return total, errors.New("the input was not taken: " + message(w.Error))
		}
		b = b[len(chunk):]
	}
	return total, nil
}

// answer is what has become of a write, unless the process had ended before.
func (p *process) answer() (w written, ok bool) {
	select {
	case w = <-p.written:
		return w, true
	case <-p.gone:
	}
	select {
	case w = <-p.written: // the process has taken it and ended
		return w, true
	default:
		return w, false
	}
}

func (p *process) CloseInput() error {
	_ = p.link.send(order{CloseInput: true}) // fails when the process has ended, and its input with it
	return nil
}

func (p *process) Resize(s execution.Size) error {
	if !p.terminal {
		return errors.New("the process has no terminal")
	}
	return p.link.send(order{Resize: &s})
}

func (p *process) Interrupt() {
	_ = p.link.send(order{Interrupt: true}) // fails when the process has ended
}

// killTime is how long the node has to say that a killed process is gone. Then the
// connection is ended, which kills the process too.
const killTime = 30 * time.Second

func (p *process) Kill() {
	p.kill.Do(func() {
		_ = p.output.Close() // what is left to read has no reader
		_ = p.link.send(order{Kill: true})
	})
	select {
	case <-p.gone:
	case <-time.After(killTime):
		p.link.cancel()
		<-p.gone
	}
}

func (p *process) Wait() (execution.Exit, error) {
	<-p.gone
	_ = p.output.Close() // it may be closed already
	return p.exit, p.err
}

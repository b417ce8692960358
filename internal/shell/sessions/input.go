package sessions

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// writeWait is how long a process has to read what is written to it.
const writeWait = 5 * time.Second

// Write writes to the process, and then ends its input if eof.
func (s *Session) Write(ctx context.Context, data []byte, eof bool) error {
	select {
	case s.input <- struct{}{}:
	default:
		return errorf(CodeInput, "process %s has not read what was written to it before: poll it, or kill it", s.id)
	}
	written := make(chan error, 1)
	go func() { // ends with the process at the latest
		var err error
		if len(data) > 0 {
			_, err = s.process.Write(data)
		}
		if err == nil && eof {
			err = s.process.CloseInput()
		}
		<-s.input // before the answer, after which the next may come at once
		written <- err
	}()
	timer := time.NewTimer(writeWait)
	defer timer.Stop()
	select {
	case err := <-written:
		if err != nil {
			return errorf(CodeEnded, "process %s takes no more input: it has ended, or its input has", s.id)
		}
		return nil
	case <-timer.C:
		return errorf(CodeInput, "process %s does not read its input; it gets what was written once it does", s.id)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Resize changes the size of the terminal.
func (s *Session) Resize(size execution.Size) error {
	if s.spec.Command.Terminal == nil {
		return errorf(CodeNoConsole, "process %s has no terminal: start it with pty: true", s.id)
	}
	if err := s.process.Resize(size); err != nil {
		return errorf(CodeEnded, "process %s: %v", s.id, err)
	}
	return nil
}

package node

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Exit statuses of ssh: its own, or the one of the command on the node.
const (
	sshFailed = 255 // it did not get there, or the connection was lost
	noProgram = 127 // of the shell there
	usage     = 2   // of a Quoin that does not know the command
)

// whyEnded says why ssh has ended before a worker has answered, and what to do about it.
func (l *link) whyEnded(status int) error {
	words := message(cmp.Or(l.words.Last(), "it says nothing"))
	switch status {
	case sshFailed:
		return fmt.Errorf("%w: ssh cannot log in (%s): try ssh -o BatchMode=yes %s true here, as the user that Quoin runs as", ErrUnavailable, words, l.node.address)
	case noProgram:
		return fmt.Errorf("%w: ssh logs in, but finds no quoin there (%s): install it in a directory of the PATH that the sshd there gives commands, such as /usr/local/bin", ErrUnavailable, words)
	case usage:
		return fmt.Errorf("%w: the quoin there does not know the command %s (%s): install the same version of Quoin on both machines", ErrUnavailable, WorkerCommand, words)
	}
	return fmt.Errorf("%w: %s there has ended with exit status %d (%s)", ErrUnavailable, WorkerCommand, status, words)
}

// greeted refuses a worker that speaks otherwise than this gateway.
func greeted(h *hello) error {
	if h == nil {
		return errProtocol
	}
	if h.Protocol != protocol {
		return fmt.Errorf("%w: quoin %s there speaks version %d of their language, and this one version %d: install the same version of Quoin on both machines", ErrUnavailable, message(h.Quoin), h.Protocol, protocol)
	}
	return nil
}

// error is a failure of the other side as an error of this one.
func (f *failure) error() error {
	words := message(f.Message)
	if kind := failureCodes[f.Code]; kind != nil {
		return fmt.Errorf("%w%s", kind, strings.TrimPrefix(words, kind.Error()))
	}
	return errors.New(words)
}

// isEnd reports that a stream has ended.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

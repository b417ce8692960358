package guestserver

import (
	"fmt"
	"os"
	"strings"

	"github.com/quoinhq/quoin/guestrt/internal/prelude"
	"github.com/quoinhq/quoin/internal/wire"
)

// file fetches a virtual file, unless it is one of the prelude's own, from the
// host in the middle of a turn. The guest
// is on the stack below, so an end of the conversation ends the process here.
func (s *server) file(path string) (data []byte, found bool) {
	if data, found = prelude.File(path); found {
		return data, true
	}
	if len(path) > wire.MaxPathBytes {
		return nil, false
	}
	err := s.conn.Send(&wire.NeedFile{Path: path})
	if err != nil {
		exit(err)
	}
	m, err := s.conn.Receive()
	if err != nil {
		exit(receiveError(err))
	}
	answer, ok := m.(*wire.FileData)
	if !ok {
		exit(&protocolError{fmt.Errorf("said %v instead of FileData", m.Type())})
	}
	if answer.Found && strings.HasPrefix(path, prelude.ProgramFolder) {
		return savedProgram(answer.Data), true
	}
	return answer.Data, answer.Found
}

// exit ends the worker with the code that tells err.
func exit(err error) {
	code := exitCode(err)
	if code != wire.ExitDone {
		fmt.Fprintln(os.Stderr, "quoin-guest:", err)
	}
	os.Exit(code)
}

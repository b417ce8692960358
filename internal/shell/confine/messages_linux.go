package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// maxMessage bounds a message between launcher and init: a packet of their socket.
const maxMessage = 128 << 10

// order is what the launcher tells the init first.
type order struct {
	Command command `json:"command"`
	Plan    plan    `json:"plan"`
	Limits  limits  `json:"limits"`
	Proxy   bool    `json:"proxy,omitempty"`
	// Given says that the trees of the mounts came as descriptors.
	Given bool `json:"given,omitempty"`
}

// command is an execution.Command. Its texts are bytes, which JSON keeps as they are.
type command struct {
	Argv, Env [][]byte
	Dir       []byte
	Terminal  *execution.Size
}

func commandOf(c execution.Command) command {
	return command{Argv: bytesOf(c.Argv), Env: bytesOf(c.Env), Dir: []byte(c.Dir), Terminal: c.Terminal}
}

func bytesOf(texts []string) [][]byte {
	all := make([][]byte, len(texts))
	for i, t := range texts {
		all[i] = []byte(t)
	}
	return all
}

func textsOf(all [][]byte) []string {
	texts := make([]string, len(all))
	for i, b := range all {
		texts[i] = string(b)
	}
	return texts
}

type limits struct {
	Memory, Processes, File uint64
}

// request is what the launcher tells the init later.
type request string

const (
	requestGo        request = "go"        // start the command
	requestTerminate request = "terminate" // ask every process to end
)

// notice is what the init tells the launcher: one of its fields is set. After the
// command has started it may have been written by a hostile process.
type notice struct {
	// Ready says that the layers are in force. The listener of the proxy and the
	// terminal come with it if the order asks for them.
	Ready []Layer `json:"ready,omitempty"`
	// Started says that the command runs.
	Started bool `json:"started,omitempty"`
	// Exit says how it has ended.
	Exit *exit `json:"exit,omitempty"`
	// Error says why the init gives up.
	Error string `json:"error,omitempty"`
}

type exit struct {
	Code   int `json:"code"`
	Signal int `json:"signal,omitempty"`
}

// link is the init's end of the socket. It is used by raw calls, which need no poller.
type link int

func (l link) send(n notice, files ...*os.File) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(int(l), b, rights, nil, unix.MSG_NOSIGNAL)
}

// receive reads one message. It is io.EOF when the launcher is gone.
func (l link) receive(v any) error {
	b := make([]byte, maxMessage)
	for {
		n, _, flags, _, err := unix.Recvmsg(int(l), b, nil, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		case flags&unix.MSG_TRUNC != 0:
			return fmt.Errorf("a message of more than %d bytes", maxMessage)
		}
		return json.Unmarshal(b[:n], v)
	}
}

//go:build unix

package childprocess

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Guard has the group of the process end with this process, also when that is killed: a shell
// that waits for the end of a pipe is the only thing then left to do it. Release it once the
// process has ended.
func (p *Process) Guard() (release func() error, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	watcher := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", `read -r _ || kill -9 "-$0"`, strconv.Itoa(p.pid)},
		Env: []string{}, Stdin: r, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := errors.Join(watcher.Start(), r.Close()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return func() error {
		_, err := w.WriteString("\n")
		return errors.Join(err, w.Close(), watcher.Wait())
	}, nil
}

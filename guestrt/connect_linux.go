package guestrt

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/selfexec"
	"github.com/quoinhq/quoin/internal/wire"
)

// connect makes the connection of a worker, by two pipes or by a socket: our end, and the
// command line and the descriptors by which the worker has the other one. Ours does not
// block a thread, theirs blocks as the worker expects.
func connect(socket bool) (ours io.ReadWriteCloser, args []string, theirs []*os.File, err error) {
	if socket {
		fds, err := socketPair()
		if err != nil {
			return nil, nil, nil, err
		}
		return os.NewFile(fds[0], "guest"), selfexec.SocketArgs(), []*os.File{os.NewFile(fds[1], "host")}, nil
	}
	in, err := pipe(0)
	if err != nil {
		return nil, nil, nil, err
	}
	from, toHost := os.NewFile(in[0], "guest"), os.NewFile(in[1], "host")
	out, err := pipe(1)
	if err != nil {
		from.Close()
		toHost.Close()
		return nil, nil, nil, err
	}
	fromHost, to := os.NewFile(out[0], "host"), os.NewFile(out[1], "guest")
	return wire.Pipes{From: from, To: to}, selfexec.Args(), []*os.File{fromHost, toHost}, nil
}

// pipe returns the ends of a pipe, the one that is read from first. The end at index
// ours does not block.
func pipe(ours int) ([2]uintptr, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return [2]uintptr{}, os.NewSyscallError("pipe2", err)
	}
	return unblocked(fds, ours)
}

// socketPair returns two connected stream sockets. The first one does not block.
func socketPair() ([2]uintptr, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return [2]uintptr{}, os.NewSyscallError("socketpair", err)
	}
	return unblocked(fds, 0)
}

func unblocked(fds [2]int, ours int) ([2]uintptr, error) {
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return [2]uintptr{}, os.NewSyscallError("fcntl", err)
	}
	return [2]uintptr{uintptr(fds[0]), uintptr(fds[1])}, nil
}

package guestrt

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/selfexec"
)

// startChild starts the guest executable with nothing but its three ends: the
// connection, the log pipe and /dev/null, and in a control group of its own
// where that works. It runs on the spawner's thread.
func (p *process) startChild(b *binary, l *launchConfig) (err error) {
	namespaces := l.noNamespaces == nil
	if p.group = l.groups.make(); p.group == nil {
		p.os, p.socket, p.log, err = startIn(nil, b, namespaces)
		return err
	}
	p.os, p.socket, p.log, err = startIn(p.group, b, namespaces)
	if err == nil {
		return nil
	}
	refused := err
	err = p.group.remove()
	p.group = nil
	if err != nil {
		return err
	}
	if p.os, p.socket, p.log, err = startIn(nil, b, namespaces); err == nil {
		l.groups.turnOff(refused) // nothing else was different
	}
	return err
}

// startIn starts the guest executable in a control group, or in the host's if
// that is nil.
func startIn(g *group, b *binary, namespaces bool) (p *os.Process, conn, log *os.File, err error) {
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			f.Close()
		}
	}()
	conn, theirConn, err := socketPair()
	if err != nil {
		return nil, nil, nil, err
	}
	opened = append(opened, theirConn)
	log, theirLog, err := os.Pipe()
	if err != nil {
		conn.Close()
		return nil, nil, nil, err
	}
	opened = append(opened, theirLog)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		opened = append(opened, null)
		attributes := sandbox.Attributes(namespaces)
		if g != nil {
			attributes.UseCgroupFD, attributes.CgroupFD = true, int(g.dir.Fd())
		}
		p, err = os.StartProcess(b.execPath(), selfexec.Args(), &os.ProcAttr{
			Dir:   "/",
			Env:   sandbox.Env(),
			Files: []*os.File{null, null, theirLog, theirConn},
			Sys:   attributes,
		})
	}
	if err != nil {
		conn.Close()
		log.Close()
		return nil, nil, nil, err
	}
	return p, conn, log, nil
}

// socketPair returns two connected stream sockets; ours does not block a
// thread, theirs blocks as the worker expects.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "guest"), os.NewFile(uintptr(fds[1]), "host"), nil
}

// execPath names the opened executable itself, so that the file that was
// hashed is the file that runs, whatever its path means by now and whichever user may
// search its directories.
func (b *binary) execPath() string {
	const stdFiles = 4
	if fd := b.file.Fd(); fd >= stdFiles {
		return fmt.Sprintf("/proc/self/fd/%d", fd)
	}
	return b.path
}

package guestrt

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/sandbox"
)

// startChild starts the guest executable with nothing but its ends: the
// connection, the log pipe and /dev/null, and in a control group of its own
// where that works. It runs on the spawner's thread.
func (p *process) startChild(b *binary, l *launchConfig) (err error) {
	if p.group = l.groups.make(); p.group == nil {
		p.os, p.stream, p.log, err = startIn(nil, b, l)
		return err
	}
	p.os, p.stream, p.log, err = startIn(p.group, b, l)
	if err == nil {
		return nil
	}
	refused := err
	err = p.group.remove()
	p.group = nil
	if err != nil {
		return err
	}
	if p.os, p.stream, p.log, err = startIn(nil, b, l); err == nil {
		l.groups.turnOff(refused) // nothing else was different
	}
	return err
}

// startIn starts the guest executable in a control group, or in the host's if
// that is nil.
func startIn(g *group, b *binary, l *launchConfig) (p *os.Process, conn io.ReadWriteCloser, log *os.File, err error) {
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			f.Close()
		}
	}()
	conn, args, theirs, err := connect(l.socket)
	if err != nil {
		return nil, nil, nil, err
	}
	opened = append(opened, theirs...)
	log, theirLog, err := os.Pipe()
	if err != nil {
		conn.Close()
		return nil, nil, nil, err
	}
	opened = append(opened, theirLog)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		opened = append(opened, null)
		files := append([]*os.File{null, null, theirLog}, theirs...)
		executable, dupErr := b.above(files)
		if dupErr != nil {
			conn.Close()
			log.Close()
			return nil, nil, nil, dupErr
		}
		opened = append(opened, executable)
		attributes := sandbox.Attributes(l.noNamespaces == nil)
		if g != nil {
			attributes.UseCgroupFD, attributes.CgroupFD = true, int(g.dir.Fd())
		}
		p, err = os.StartProcess(fmt.Sprintf("/proc/self/fd/%d", executable.Fd()), args, &os.ProcAttr{
			Dir:   "/",
			Env:   sandbox.Env(),
			Files: files,
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

// above returns the opened executable itself once more, so that the file that was hashed
// is the file that runs, whatever its path means by now and whichever user may search its
// directories. Its descriptor is greater than all that a child with these files has at any
// time: each takes its place, some by way of the next ones, before the child executes it.
func (b *binary) above(files []*os.File) (*os.File, error) {
	least := len(files)
	for _, f := range files {
		least = max(least, int(f.Fd()))
	}
	fd, err := unix.FcntlInt(b.file.Fd(), unix.F_DUPFD_CLOEXEC, least+len(files)+1)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), b.path), nil
}

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// mountsVariable says that the process has mounts of its own.
const mountsVariable = "QUOIN_CHAOS_MOUNTS"

// ownMounts says whether disks can be mounted: no other process sees them, and they are
// gone with the last process of the test.
var ownMounts bool

// withOwnMounts runs the tests in a process that has mounts of its own, if this one may make it.
func withOwnMounts(m *testing.M) int {
	if os.Getenv(mountsVariable) != "" {
		ownMounts = true
		if err := mountNamespaces(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}
	self, err := os.Executable()
	if err != nil {
		return m.Run()
	}
	runtime.LockOSThread() // the child ends with this thread
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), mountsVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return m.Run() // without the right to
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() < 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// disk is a file system that can be full.
type disk struct {
	path string
	size uint64
}

// mountDisk puts one over an empty folder. Its size is a limit: it takes memory for what
// it has.
func mountDisk(path string, size uint64) (*disk, error) {
	d := &disk{path, size}
	return d, os.NewSyscallError("mount "+path, syscall.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("mode=0700,size=%d", size)))
}

func (d *disk) unmount() error {
	return os.NewSyscallError("unmount "+d.path, syscall.Unmount(d.path, syscall.MNT_DETACH))
}

// fill leaves no room: from now on each write that needs some fails with ENOSPC.
func (d *disk) fill() (err error) {
	for range 100 { // what is written between the look and the change
		var now syscall.Statfs_t
		if err := syscall.Statfs(d.path, &now); err != nil {
			return err
		}
		if err = d.resize((now.Blocks - now.Bfree) * uint64(now.Bsize)); !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return err
}

// free gives the room back.
func (d *disk) free() error { return d.resize(d.size) }

func (d *disk) resize(size uint64) error {
	return os.NewSyscallError("remount "+d.path, syscall.Mount("", d.path, "", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size)))
}

// fullDisk leaves no room for the state of the host.
func (m *member) fullDisk() fault {
	f := fault{name: "full disk", lasts: moment}
	if m.disk == nil {
		f.leftOut = "no right to mount"
		return f
	}
	f.begin, f.end = m.disk.fill, m.disk.free
	return f
}

// fullDisk has the disk of the database full. Where none can be mounted, writes of runs fail
// as on one.
func (d *database) fullDisk() fault {
	f := fault{name: "full disk", lasts: moment, most: 6 * time.Second}
	if ownMounts {
		f.begin, f.end = func() error { return d.disks[d.primary].fill() }, d.freeDisk
		return f
	}
	f.begin = func() error { return d.exec(context.Background(), `INSERT INTO public.full_disk VALUES (true)`) }
	f.end = func() error { return d.exec(context.Background(), `DELETE FROM public.full_disk`) }
	return f
}

// fullLog has a server that has no room need some for its log of writes: it ends itself,
// and cannot start before there is some.
func (d *database) fullLog() fault {
	f := fault{name: "full disk that ends the server", lasts: moment, most: 6 * time.Second}
	if !ownMounts {
		f.leftOut = "no right to mount"
		return f
	}
	f.begin = func() error {
		if err := d.disks[d.primary].fill(); err != nil {
			return err
		}
		for range 100 { // what the server has room for already
			if d.exec(context.Background(), `SELECT pg_switch_wal() FROM pg_logical_emit_message(true, '', '')`) != nil {
				return nil
			}
		}
		return errors.New("the server has room")
	}
	f.end = d.freeDisk
	return f
}

// freeDisk gives the room back, and starts the server if its full disk has ended it.
func (d *database) freeDisk() error {
	err := d.disks[d.primary].free()
	for range 100 {
		if d.exec(context.Background(), `SELECT`) == nil {
			return err
		}
		if !d.primary.Running() {
			d.w.faults.note(fault{where: "database", name: "ended by a full disk"}, time.Now(), d.primary.Start())
		}
		rest(context.Background(), 100*time.Millisecond)
	}
	return errors.Join(err, errors.New("the database does not answer after its disk was full"))
}

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// fullDisk leaves no room for a while.
func (w *world) fullDisk(d *disk) fault {
	return fault{"full disk", func(ctx context.Context, rng *rand.Rand) error {
		if err := d.fill(); err != nil {
			return err
		}
		rest(ctx, w.pause(rng))
		return d.free()
	}}
}

// full has the disk of the database full for a while. A server that has no room for its
// log of writes ends itself, and cannot start before there is some.
func (d *database) full(ctx context.Context, rng *rand.Rand) error {
	full := d.disks[d.primary]
	if full == nil {
		return d.pretendFull(ctx, rng)
	}
	if err := full.fill(); err != nil {
		return err
	}
	for range rng.IntN(6) { // a log that needs a new file at once has the server end itself
		if d.exec(context.Background(), `SELECT pg_switch_wal() FROM pg_logical_emit_message(true, '', '')`) != nil {
			break
		}
	}
	rest(ctx, upTo(rng, min(*chaosTime/4, 6*time.Second)))
	err := full.free()
	for range 100 {
		if d.exec(context.Background(), `SELECT`) == nil {
			return err
		}
		if !d.primary.Running() {
			d.w.faults.note("database", "ended by a full disk", time.Now(), d.primary.Start())
		}
		rest(context.Background(), 100*time.Millisecond)
	}
	return errors.Join(err, errors.New("the database does not answer after its disk was full"))
}

// pretendFull has writes of runs fail as on a full disk, where none can be mounted.
func (d *database) pretendFull(ctx context.Context, rng *rand.Rand) error {
	if err := d.exec(context.Background(), `INSERT INTO public.full_disk VALUES (true)`); err != nil {
		return err
	}
	rest(ctx, upTo(rng, 3*time.Second))
	return d.exec(context.Background(), `DELETE FROM public.full_disk`)
}

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
	"github.com/quoinhq/quoin/internal/wire"
)

// firstExtra is the first descriptor a worker must not have: 0 and 1 are
// /dev/null, 2 is the log pipe, 3 and 4 are the connection to the host.
const firstExtra = 5

// offError is the reason for a layer to be off rather than failed.
type offError struct{ reason string }

func (e *offError) Error() string { return e.reason }

// Seal confines the calling process for good and reports every layer. It must
// run before the Go runtime's poller is started.
func Seal(p Policy) []wire.Layer {
	held, heldErr := privateMemory()
	sealed.held = held
	firstErr := killFirst() // while /proc is there
	var threads *lockdown.ThreadList
	everyThread := func(call, a, b, c uintptr) error { return threads.Every(call, a, b, c) }
	steps := []struct {
		name  string
		apply func() (detail string, err error)
	}{
		{LayerUser, checkUser},
		{LayerEnvironment, checkEnvironment},
		{LayerFiles, func() (string, error) {
			defer func() { threads = lockdown.OpenThreads() }() // while /proc is there, and none of what is closed
			return closeDescriptors()
		}},
		{LayerNamespaces, checkNamespaces},
		{LayerRoot, emptyRoot},
		{LayerDumpable, func() (string, error) { return "", lockdown.ForbidTracing() }},
		{LayerLimits, func() (string, error) { return setLimits(p, held, heldErr, firstErr) }},
		{LayerCapabilities, onThreads(everyThread, lockdown.DropCapabilities)},
		{LayerPrivileges, onThreads(everyThread, lockdown.ForbidPrivileges)},
		{LayerLandlock, func() (string, error) { return restrictPaths(everyThread) }},
		{LayerSeccomp, filterCalls},
	}
	layers := make([]wire.Layer, 0, len(steps))
	for _, s := range steps {
		detail, err := s.apply()
		layers = append(layers, layer(s.name, detail, err))
	}
	threads.Close()
	return layers
}

// onThreads is a step for the threads, without a detail to report.
func onThreads(t lockdown.Threads, do func(lockdown.Threads) error) func() (string, error) {
	return func() (string, error) { return "", do(t) }
}

func layer(name, detail string, err error) wire.Layer {
	var off *offError
	switch {
	case err == nil:
		return wire.Layer{Name: name, State: wire.LayerOn, Detail: detail}
	case errors.As(err, &off):
		return wire.Layer{Name: name, State: wire.LayerOff, Detail: off.reason}
	default:
		return wire.Layer{Name: name, State: wire.LayerFailed, Detail: err.Error()}
	}
}

func checkUser() (string, error) {
	uid := os.Getuid()
	if uid == 0 || os.Geteuid() == 0 {
		return "", errors.New("the worker runs as root")
	}
	return fmt.Sprintf("uid %d", uid), nil
}

func checkEnvironment() (string, error) {
	env, want := os.Environ(), Env()
	slices.Sort(env)
	slices.Sort(want)
	if !slices.Equal(env, want) {
		return "", fmt.Errorf("the worker was started with %d variables instead of its own %d", len(env), len(want))
	}
	return "", nil
}

// closeDescriptors closes whatever was inherited beyond the five of a worker. A
// program that serves as its own guest may have started the Go runtime's poller
// while it was initialised; the runtime cannot run without it.
func closeDescriptors() (string, error) {
	next := uint(firstExtra)
	sealed.poller = pollerDescriptors()
	for _, fd := range sealed.poller {
		if fd > next {
			if err := unix.CloseRange(next, fd-1, 0); err != nil {
				return "", err
			}
		}
		next = fd + 1
	}
	detail := ""
	if len(sealed.poller) > 0 {
		detail = fmt.Sprintf("and those of the Go runtime's poller, %d", sealed.poller)
	}
	return detail, unix.CloseRange(next, math.MaxUint32, 0)
}

// pollerDescriptors finds what the runtime's poller has open, in ascending order.
// Inherited descriptors of the same kind are told apart by the close-on-exec
// flag, with which they would not be here. Where /proc cannot be read there is
// nothing to keep.
func pollerDescriptors() []uint {
	dir, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	var names []string
	var buf [4096]byte
	for {
		n, err := unix.ReadDirent(dir, buf[:])
		if err != nil || n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
	var keep []uint
	for _, name := range names {
		fd, err := strconv.ParseUint(name, 10, 31)
		if err == nil && fd >= firstExtra && isPoller(int(fd)) {
			keep = append(keep, uint(fd))
		}
	}
	slices.Sort(keep)
	return keep
}

func isPoller(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		return false
	}
	var link [64]byte
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), link[:])
	if err != nil {
		return false
	}
	what := string(link[:n])
	return what == "anon_inode:[eventpoll]" || what == "anon_inode:[eventfd]"
}

package confine

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

// seal gives up what the init may do, for itself and for the command, and reports all
// layers.
func seal(o order, proc error) []Layer {
	steps := []struct {
		name  string
		apply func() (string, error)
	}{
		{LayerNamespaces, checkNamespaces},
		{LayerUser, func() (string, error) { return fmt.Sprintf("uid %d", os.Getuid()), nil }}, // see verify
		{LayerRoot, func() (string, error) {
			return fmt.Sprintf("%d mounts, %d hidden paths", len(o.Plan.Mounts), len(o.Plan.Hide)), nil
		}},
		{LayerProc, func() (string, error) { return "", proc }},
		{LayerLimits, func() (string, error) { return setLimits(o.Limits) }},
		{LayerCapabilities, plain(func() error { return lockdown.DropCapabilities(threads) })},
		{LayerPrivileges, plain(forbidPrivileges)},
		{LayerLandlock, func() (string, error) { return restrictFiles(o.Plan) }},
		{LayerSeccomp, filterCalls},
	}
	layers := make([]Layer, 0, len(steps))
	for _, s := range steps {
		detail, err := s.apply()
		if err != nil {
			detail = err.Error()
		}
		layers = append(layers, Layer{Name: s.name, On: err == nil, Detail: detail})
	}
	return layers
}

// threads takes a step on every thread of the init, or, if it was built with cgo and
// may have threads that the Go runtime does not know, on the one that starts the command.
func threads(call, a, b, c uintptr) error {
	err := lockdown.EveryThread(call, a, b, c)
	if errors.Is(err, lockdown.ErrCgo) {
		return lockdown.ThisThread(call, a, b, c)
	}
	return err
}

func plain(do func() error) func() (string, error) {
	return func() (string, error) { return "", do() }
}

func checkNamespaces() (string, error) {
	if os.Getpid() != 1 {
		return "", errors.New("the init is not the first process of its namespace")
	}
	return "user, pid, mount, net, ipc, uts, cgroup", nil
}

// forbidPrivileges also keeps the command from looking at the init.
func forbidPrivileges() error {
	return errors.Join(lockdown.ForbidTracing(), lockdown.ForbidPrivileges(threads))
}

// The bounds that are not configured.
const (
	descriptors = 4096
	// initThreads is how many threads the init may have next to the command.
	initThreads = 16
)

func setLimits(l limits) (string, error) {
	for _, r := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_MEMLOCK, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_NOFILE, descriptors},
		{unix.RLIMIT_FSIZE, l.File},
		{unix.RLIMIT_DATA, l.Memory},
		{unix.RLIMIT_NPROC, l.Processes + initThreads},
	} {
		if err := lockdown.LowerLimit(r.resource, r.value); err != nil {
			return "", fmt.Errorf("limit %d: %w", r.resource, err)
		}
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", err
	}
	if !lockdown.ProcessesPerNamespace(unix.ByteSliceToString(name.Release[:])) {
		return "", errors.New("this kernel does not count the processes of one sandbox, which needs Linux 5.14")
	}
	return strconv.FormatUint(l.Processes, 10) + " processes", nil
}

// restrictFiles repeats by Landlock what the mounts of the root allow.
func restrictFiles(p plan) (string, error) {
	abi, err := lockdown.LandlockABI()
	if err != nil {
		return "", err
	}
	rules := lockdown.LandlockRules(abi)
	rules.Handled_access_net = 0 // the net namespace has nothing but the loopback
	const read = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE
	const use = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	const special = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	write := rules.Handled_access_fs &^ special
	exceptions := []lockdown.LandlockPath{{Path: "/", Access: read}, {Path: "/dev/pts", Access: use | read}}
	for _, name := range devices {
		exceptions = append(exceptions, lockdown.LandlockPath{Path: "/dev/" + name, Access: use})
	}
	for _, dir := range []string{"/tmp", "/dev/shm", home} {
		exceptions = append(exceptions, lockdown.LandlockPath{Path: dir, Access: write})
	}
	for _, m := range p.Mounts {
		if m.Write && !m.Pin {
			exceptions = append(exceptions, lockdown.LandlockPath{Path: m.Path, Access: write})
		}
	}
	if err := lockdown.Restrict(threads, rules, exceptions...); err != nil {
		return "", err
	}
	return fmt.Sprintf("version %d", abi), nil
}

package sandbox

import (
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/internal/lockdown"
)

// TestLandlockRules names what each version of Landlock forbids.
func TestLandlockRules(t *testing.T) {
	const (
		first = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
			unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
			unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
			unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			unix.LANDLOCK_ACCESS_FS_MAKE_SYM
		second = first | unix.LANDLOCK_ACCESS_FS_REFER
		third  = second | unix.LANDLOCK_ACCESS_FS_TRUNCATE
		fifth  = third | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		tcp    = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		scope  = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	)
	for abi, want := range map[int]unix.LandlockRulesetAttr{
		1: {Handled_access_fs: first},
		2: {Handled_access_fs: second},
		3: {Handled_access_fs: third},
		4: {Handled_access_fs: third, Handled_access_net: tcp},
		5: {Handled_access_fs: fifth, Handled_access_net: tcp},
		6: {Handled_access_fs: fifth, Handled_access_net: tcp, Scoped: scope},
		7: {Handled_access_fs: fifth, Handled_access_net: tcp, Scoped: scope},
	} {
		if got := lockdown.LandlockRules(abi); got != want {
			t.Errorf("version %d: %+v, want %+v", abi, got, want)
		}
	}
}

func TestWhichKernelsCountThreadsPerNamespace(t *testing.T) {
	for release, want := range map[string]bool{
		"6.18.44": true, "5.14.0-70.el9": true, "5.15.0-generic": true, "10.0": true,
		"5.13.19": false, "4.4.0": false, "5": false, "": false, "x.y": false,
	} {
		if got := lockdown.ProcessesPerNamespace(release); got != want {
			t.Errorf("%q: %v, want %v", release, got, want)
		}
	}
}

// makeThreads makes n threads at once, besides those there are.
func makeThreads(n int) func() error {
	return func() error {
		started, done := make(chan bool), make(chan bool)
		for range n {
			go func() {
				runtime.LockOSThread()
				started <- true
				<-done
			}()
		}
		for range n {
			<-started
		}
		close(done)
		return nil
	}
}

func init() {
	probes["half of the threads"] = makeThreads(MaxThreads / 2)
	probes["twice the threads"] = makeThreads(2 * MaxThreads)
}

// TestThreadsAreLimited makes threads until the kernel refuses, which ends a Go
// program. Where the kernel's limit would count other processes, it is not set.
func TestThreadsAreLimited(t *testing.T) {
	for variant, namespaces := range variants(t) {
		t.Run(variant, func(t *testing.T) {
			if _, answer, status := run(t, "half of the threads", standard(namespaces)); answer != "allowed" || status != 0 {
				t.Errorf("half: answer %q, status %#x", answer, uint32(status))
			}
			var name unix.Utsname
			if err := unix.Uname(&name); err != nil {
				t.Fatal(err)
			}
			limited := namespaces && lockdown.ProcessesPerNamespace(unix.ByteSliceToString(name.Release[:]))
			_, answer, status := run(t, "twice the threads", standard(namespaces))
			if limited && (answer != "" || !isFatal(status)) || !limited && answer != "allowed" {
				t.Errorf("limited %v: answer %q, status %#x", limited, answer, uint32(status))
			}
		})
	}
}

// isFatal reports whether the Go runtime ended the process: it can make no thread.
func isFatal(status syscall.WaitStatus) bool { return status.Exited() && status.ExitStatus() == 2 }

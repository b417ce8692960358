package lockdown

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// confinedName marks a test binary that takes steps on all of its threads.
const confinedName = "lockdown-threads"

func TestMain(m *testing.M) {
	if os.Args[0] == confinedName {
		if err := confineThreads(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestEveryThreadIsConfined has threads of every age: some wait, some come and go
// while the steps are taken, some start later.
func TestEveryThreadIsConfined(t *testing.T) {
	if !ThreadsKnown() {
		t.Skip(ErrCgo)
	}
	if _, err := LandlockABI(); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{confinedName}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// confineThreads takes two steps and has every thread look whether they hold.
func confineThreads() error {
	const n = 12
	runtime.GOMAXPROCS(4)
	var results sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	report := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, err)
	}
	release, stop := make(chan bool), make(chan bool)
	onThread := func() {
		started := make(chan bool)
		results.Go(func() {
			runtime.LockOSThread()
			close(started)
			<-release
			report(isConfined())
		})
		<-started
	}
	for range n {
		onThread()
	}
	results.Go(func() { comeAndGo(stop) })
	err := takeSteps()
	close(stop)
	for range n {
		onThread()
	}
	close(release)
	results.Wait()
	return errors.Join(append(failures, err, isConfined())...)
}

// comeAndGo starts threads that end at once, one after the other.
func comeAndGo(stop <-chan bool) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		ended := make(chan bool)
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			close(ended)
		}()
		<-ended
	}
}

func takeSteps() error {
	abi, err := LandlockABI()
	if err != nil {
		return err
	}
	threads := OpenThreads()
	defer threads.Close()
	if err := ForbidPrivileges(threads.Every); err != nil {
		return err
	}
	return Restrict(threads.Every, LandlockRules(abi))
}

func isConfined() error {
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); set != 1 || err != nil {
		return fmt.Errorf("thread %d: no_new_privs is %d, %v", unix.Gettid(), set, err)
	}
	fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY, 0)
	if !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("thread %d opens a file: %d, %v", unix.Gettid(), fd, err)
	}
	return nil
}

// TestAFailureOfTheFirstThreadIsReturned and nothing is done on the others.
func TestAFailureOfTheFirstThreadIsReturned(t *testing.T) {
	if !ThreadsKnown() {
		t.Skip(ErrCgo)
	}
	threads := OpenThreads()
	defer threads.Close()
	if err := threads.Every(unix.SYS_PRCTL, ^uintptr(0), 0, 0); !errors.Is(err, unix.EINVAL) {
		t.Errorf("%v", err)
	}
}

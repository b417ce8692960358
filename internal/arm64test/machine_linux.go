package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	ordinary = 65534 // the user that owns nothing
	runner   = "quoin-runner"
)

// isMachine reports whether this process is the machine's first one or its child.
func isMachine() bool { return os.Getpid() == 1 && os.Args[0] == "/init" || os.Args[0] == runner }

// beMachine is the whole life of the machine. Its first process collects what loses
// its parent; a child of it runs the jobs.
func beMachine() {
	if os.Args[0] == runner {
		if err := runJobs(); err != nil {
			fmt.Println("machine:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := errors.Join(prepare(), collect()); err != nil {
		fmt.Println("machine:", err)
	}
	// With panic=-1 the kernel restarts, which ends the emulator.
	fmt.Println("machine:", unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF))
	os.Exit(1)
}

// fileSystems are mounted in order below the new root.
var fileSystems = []struct {
	kind, at string
	flags    uintptr
	options  string
}{
	{"tmpfs", "", 0, "mode=755"},
	{"proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
	{"sysfs", "sys", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
	{"devtmpfs", "dev", unix.MS_NOSUID, ""},
	{"tmpfs", "dev/shm", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
	{"tmpfs", "tmp", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
	{"cgroup2", "sys/fs/cgroup", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
}

// prepare makes a root file system that is not the initial one, which no process can
// leave by pivot_root, and the loopback interface.
func prepare() error {
	const root = "/root"
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for _, f := range fileSystems {
		at := filepath.Join(root, f.at)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(f.kind, at, f.kind, f.flags, f.options); err != nil {
			return fmt.Errorf("mount %s at %s: %w", f.kind, at, err)
		}
	}
	for _, dir := range []string{"/programs", "/src"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(dir, root+dir, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", dir, err)
		}
	}
	return errors.Join(files(root), enter(root), loopback())
}

// files makes what programs expect of a system.
func files(root string) error {
	plan, err := os.ReadFile(planFile)
	if err != nil {
		return err
	}
	own, err := os.ReadFile("/init")
	if err != nil {
		return err
	}
	home := root + "/home/user"
	return errors.Join(
		os.MkdirAll(root+"/bin", 0o755), os.MkdirAll(root+"/etc", 0o755), os.MkdirAll(home, 0o755), os.MkdirAll(root+"/root", 0o700),
		os.Chown(home, ordinary, ordinary),
		os.WriteFile(root+planFile, plan, 0o644),
		os.WriteFile(root+"/bin/go", own, 0o755),
		os.WriteFile(root+"/etc/passwd", []byte("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/home/user:/bin/sh\n"), 0o644),
		os.WriteFile(root+"/etc/group", []byte("root:x:0:\nnogroup:x:65534:\n"), 0o644),
		os.WriteFile(root+"/etc/hosts", []byte("127.0.0.1 localhost\n"), 0o644),
		os.WriteFile(root+"/etc/mtab", nil, 0o644))
}

// enter makes a directory, which is a mount, the root of this process and its children.
func enter(root string) error {
	return errors.Join(os.Chdir(root), unix.Mount(root, "/", "", unix.MS_MOVE, ""), unix.Chroot("."), os.Chdir("/"))
}

func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// collect starts the process that runs the jobs and waits for every process until
// that one has ended.
func collect() error {
	child, err := syscall.ForkExec("/bin/go", []string{runner}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}, Env: []string{}})
	if err != nil {
		return err
	}
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		if err != nil && err != syscall.EINTR {
			return err
		}
		if pid == child {
			return nil
		}
	}
}

// runJobs runs the plan and says how each job ended.
func runJobs() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	fmt.Printf("\n%s%s %s, pages of %d bytes\n", readyMark, unix.ByteSliceToString(name.Machine[:]),
		unix.ByteSliceToString(name.Release[:]), os.Getpagesize())
	b, err := os.ReadFile(planFile)
	if err != nil {
		return err
	}
	var jobs []job
	if err := json.Unmarshal(b, &jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		start := time.Now()
		r := result{Name: j.Name, Says: j.Says, Exit: runJob(j), Seconds: time.Since(start).Seconds()}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s%s\n", resultMark, line)
	}
	return nil
}

// runJob returns a job's exit status.
func runJob(j job) int {
	cmd := exec.Command(j.binary(), j.Args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	cmd.Dir = "/src/" + j.Package
	home := "/root"
	if j.User {
		home = "/home/user"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	}
	cmd.Env = []string{"HOME=" + home, "PATH=/bin", "TMPDIR=/tmp", "USER=test"}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		fmt.Println(exit)
		return max(1, exit.ExitCode())
	case err != nil:
		fmt.Println("machine:", err)
		return 1
	}
	return 0
}

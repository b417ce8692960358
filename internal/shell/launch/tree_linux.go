package launch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a tree of processes that this user may not kill is waited for.
const patience = 2 * time.Second

// tree is a command with all its descendants. The supervisor is its root.
type tree struct {
	first  int
	cgroup cgroup
	output *os.File // open until the tree has ended, so that it ends then and not before

	firstEnded chan struct{}
	gone       chan struct{} // closed once the supervisor has no child
	mu         sync.Mutex    // held while children are reaped, and while one is killed by its number
	status     unix.WaitStatus
	refused    []int // the processes that may not be killed; valid after end
}

func startTree(r request) (*tree, error) {
	input := os.NewFile(inputFD, "input")
	defer closeAll(input) // so that a write fails when no process reads
	t := &tree{output: os.NewFile(outputFD, "output"), firstEnded: make(chan struct{}), gone: make(chan struct{})}
	if !r.WithoutCgroup {
		t.cgroup = newCgroup()
	}
	pid, err := startCommand(r, input, t.output, t.cgroup.fd())
	if err != nil && t.cgroup.dir != "" {
		// Not every kernel, and not every filter of system calls, lets a process start in
		// a group.
		t.cgroup.remove()
		t.cgroup = cgroup{}
		pid, err = startCommand(r, input, t.output, -1)
	}
	if err != nil {
		return nil, err
	}
	t.first = pid
	go t.reap()
	return t, nil
}

// reap reaps children until there is no more: then nothing is left below the supervisor,
// as orphans become its children.
func (t *tree) reap() {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
		if errors.Is(err, unix.ECHILD) {
			close(t.gone)
			return
		}
		t.reapEnded()
	}
}

// reapEnded reaps the children that have ended.
func (t *tree) reapEnded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		var s unix.WaitStatus
		pid, err := unix.Wait4(-1, &s, unix.WNOHANG|unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		if pid == t.first {
			t.status = s
			close(t.firstEnded)
		}
	}
}

// end ends the tree and returns once nothing is left, or only processes that this user
// may not end.
func (t *tree) end() {
	defer t.cgroup.remove()
	var deadline time.Time
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		select {
		case <-t.gone: // most commands leave nothing
			return
		case <-time.After(pause):
		}
		t.cgroup.kill()
		t.stopAll()
		killable, refused := t.signalAll(unix.SIGKILL)
		t.killChildren()
		switch {
		case killable > 0 || len(refused) == 0:
			deadline = time.Time{}
		case deadline.IsZero():
			deadline = time.Now().Add(patience)
		case time.Now().After(deadline):
			t.refused = refused
			return
		}
	}
}

// stopAll stops every process, so that they start no others: again and again, until there
// is no new one.
func (t *tree) stopAll() {
	stopped := map[member]bool{}
	for range 100 {
		more := false
		for _, m := range descendants(os.Getpid()) {
			id := member{pid: m.pid, started: m.started}
			if !stopped[id] {
				stopped[id], more = true, true
				_ = m.signal(unix.SIGSTOP) // one that cannot be stopped may be killed
			}
		}
		if !more {
			return
		}
	}
}

// signalAll sends a signal to every process, and returns how many have got it, and which
// may not.
func (t *tree) signalAll(s unix.Signal) (sent int, refused []int) {
	for _, m := range descendants(os.Getpid()) {
		switch err := m.signal(s); {
		case err == nil:
			sent++
		case errors.Is(err, unix.EPERM):
			refused = append(refused, m.pid)
		}
	}
	return sent, refused
}

// killChildren kills the children of the supervisor some times in fast succession. A
// process that forks and ends, and has a child that does so as well, is gone before
// a look at all processes reaches it; it is a child of the supervisor each time.
func (t *tree) killChildren() {
	for range 50 {
		t.mu.Lock() // while no child is reaped its number is its own
		for _, pid := range children() {
			_ = unix.Kill(pid, unix.SIGKILL) // signalAll counts those that refuse
		}
		t.mu.Unlock()
		select {
		case <-t.gone:
			return
		default:
		}
	}
}

// report says how the tree has ended.
func (t *tree) report() report {
	select {
	case <-t.firstEnded:
	default:
		return report{Error: fmt.Sprintf("process %d is another user's, and has not ended when it was told to", t.first)}
	}
	exit := exitOf(t.status)
	if len(t.refused) > 0 {
		return report{Error: fmt.Sprintf("the command has ended (exit status %d%s), but processes of another user, which cannot be ended, are left: %d",
			exit.Code, exit.Signal, t.refused)}
	}
	return report{Exit: exit}
}

// member is a process, with the time of its start, as /proc has them.
type member struct {
	pid, parent, session int
	started              string
	zombie               bool
}

// signal sends a signal to the process unless its number is another's by now.
func (m member) signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(m.pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := readMember(m.pid); !ok || now.started != m.started {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, s, nil, 0)
}

// descendants returns the processes below one, without those that have ended.
func descendants(root int) []member {
	byParent := map[int][]member{}
	for _, m := range allProcesses() {
		byParent[m.parent] = append(byParent[m.parent], m)
	}
	var found []member
	for next := []int{root}; len(next) > 0; {
		var below []int
		for _, pid := range next {
			for _, m := range byParent[pid] {
				below = append(below, m.pid)
				if !m.zombie {
					found = append(found, m)
				}
			}
			delete(byParent, pid) // parents that change make no circle
		}
		next = below
	}
	return found
}

// allProcesses returns the processes that can be seen.
func allProcesses() []member {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is better than nothing: the caller looks again
	var all []member
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if m, ok := readMember(pid); ok {
				all = append(all, m)
			}
		}
	}
	return all
}

func readMember(pid int) (member, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return member{}, false
	}
	return parseMember(pid, string(stat))
}

// parseMember reads what /proc says of a process. The name of its program is in
// parentheses and may have any character: a process chooses it.
func parseMember(pid int, stat string) (member, bool) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 20 {
		return member{}, false
	}
	parent, err1 := strconv.Atoi(f[1])
	session, err2 := strconv.Atoi(f[3])
	return member{pid: pid, parent: parent, session: session, started: f[19], zombie: f[0] == "Z" || f[0] == "X"},
		err1 == nil && err2 == nil
}

// children returns the children of this process, or nothing on kernels that do not list
// them.
func children() []int {
	pid := os.Getpid() // orphans become children of the first thread
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range strings.Fields(string(list)) {
		if n, err := strconv.Atoi(f); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// endOrphans ends what a supervisor that was killed has left: the control group of the
// command, or the session that the command was the first process of.
func endOrphans(session int, dir string) {
	c := cgroup{dir: dir}
	defer c.remove()
	for again := true; again; time.Sleep(time.Millisecond) {
		c.kill()
		again = c.populated()
		for _, m := range allProcesses() {
			if m.session == session && !m.zombie && m.signal(unix.SIGKILL) == nil {
				again = true
			}
		}
	}
}

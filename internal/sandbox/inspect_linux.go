package sandbox

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/lockdown"
	"github.com/quoinhq/quoin/internal/wire"
)

// Verify compares what a worker reported with what the kernel tells other processes
// about each thread of the worker's process. Its error names the first layer that is
// claimed and not in force.
func Verify(pid int, layers []wire.Layer) error {
	threads, err := lockdown.ThreadStatuses(pid)
	if err != nil {
		return err
	}
	for _, status := range threads {
		if err := verifyThread(status, layers); err != nil {
			return err
		}
	}
	return nil
}

func verifyThread(status map[string]string, layers []wire.Layer) error {
	facts := map[string]bool{
		LayerUser:         !strings.HasPrefix(status["Uid"], "0\t"),
		LayerNamespaces:   len(strings.Fields(status["NSpid"])) > 1,
		LayerCapabilities: strings.Trim(status["CapEff"]+status["CapPrm"]+status["CapInh"]+status["CapAmb"], "0") == "",
		LayerPrivileges:   status["NoNewPrivs"] == "1",
		LayerSeccomp:      status["Seccomp"] == "2",
	}
	for _, l := range layers {
		if holds, known := facts[l.Name]; known && !holds && l.State == wire.LayerOn {
			return fmt.Errorf("the worker claims the layer %s, the kernel knows nothing of it on thread %s", l.Name, status["Pid"])
		}
	}
	return nil
}

// UsageOf asks the kernel what a process uses at this moment.
func UsageOf(pid int) (Usage, error) {
	status, err := lockdown.Status(pid)
	if err != nil {
		return Usage{}, err
	}
	return usageIn(status)
}

// usageIn reads what the kernel says of a process.
func usageIn(status map[string]string) (u Usage, err error) {
	_, err = fmt.Sscan(status["Threads"], &u.Threads)
	u.Hidden = strings.HasPrefix(status["State"], "Z") && u.Threads > 1 && !wasKilled(status)
	for _, key := range []string{"RssAnon", "VmSwap"} {
		var kib uint64
		if _, e := fmt.Sscan(status[key], &kib); e == nil { // a process that has ended has no such line
			u.Memory += kib << 10
		}
	}
	return u, err
}

// wasKilled reports whether someone has killed a process, as the kernel does when memory runs
// out. Its threads end when they get to run, the first of them perhaps long before the others.
func wasKilled(status map[string]string) bool {
	const kill = 1 << (9 - 1)
	pending, err := strconv.ParseUint(status["ShdPnd"], 16, 64)
	return err == nil && pending&kill != 0
}

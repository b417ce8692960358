package chaos_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// namespaces is where ip keeps the names of network namespaces. A file system of the
// test's own is over it: namespaces end with the test, however that ends.
const namespaces = "/run/netns"

// mountNamespaces prepares for namespaces of hosts. The caller has mounts of its own.
func mountNamespaces() error {
	if err := os.MkdirAll(namespaces, 0o755); err != nil {
		return err
	}
	return os.NewSyscallError("mount "+namespaces, syscall.Mount("tmpfs", namespaces, "tmpfs", 0, "mode=0755"))
}

// network is the network namespace of a host, and the cable to it.
type network struct {
	name    string     // of the namespace, and of our end of the cable
	gateway netip.Addr // ours: all that the host reaches
	address netip.Addr // the host's
}

// newNetwork makes the namespace of a host. Its addresses are of the block that is set
// aside for tests of networks, four to a host.
func newNetwork(host int) (*network, error) {
	block := os.Getpid()%4096*clusterSize + host
	at := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(block >> 6), byte(block<<2 + n)}) }
	n := &network{name: fmt.Sprintf("qc%d", block), gateway: at(1), address: at(2)}
	for _, line := range []string{
		"netns add NAME",
		"link add NAME type veth peer name eth0 netns NAME",
		"addr add GATEWAY/30 dev NAME",
		"link set NAME up",
		"-netns NAME addr add ADDRESS/30 dev eth0",
		"-netns NAME link set lo up",
		"-netns NAME link set eth0 up",
		"-netns NAME route add default via GATEWAY",
	} {
		line = strings.NewReplacer("NAME", n.name, "GATEWAY", n.gateway.String(), "ADDRESS", n.address.String()).Replace(line)
		if err := ip(line); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func ip(line string) error {
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", line, err, out)
	}
	return nil
}

// remove ends the namespace and the cable.
func (n *network) remove() error { return ip("netns delete " + n.name) }

// inside has a command run in the namespace, as the same process.
func (n *network) inside(cmd *exec.Cmd) (*exec.Cmd, error) {
	enter, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, err
	}
	return exec.Command(enter, append([]string{"--net=" + filepath.Join(namespaces, n.name), cmd.Path}, cmd.Args[1:]...)...), nil
}

// unplugged cuts a host off from everything, as a cable that is pulled does: what it sends
// gets lost, and its connections do not hear of it.
func (m *member) unplugged() fault {
	f := fault{name: "cable pulled", lasts: pastLease, weight: 2}
	if m.network == nil {
		f.leftOut = "hosts share the network of this machine"
		return f
	}
	f.begin = func() error { return ip("link set " + m.network.name + " down") }
	f.end = func() error { return ip("link set " + m.network.name + " up") }
	return f
}

// connect gives the hosts network namespaces, if this process may make them.
func (w *world) connect(t *testing.T) {
	t.Helper()
	for i, m := range w.members {
		n, err := newNetwork(i)
		if err != nil {
			t.Logf("hosts share the network of this machine: %v", err)
			return
		}
		t.Cleanup(func() {
			if err := n.remove(); err != nil {
				t.Error(err)
			}
		})
		m.network = n
	}
}

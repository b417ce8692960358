package cluster

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"
)

// Fault is what keeps hosts of one store from asking each other.
type Fault struct {
	Host    string // the one that cannot be asked
	Address string // that it advertises
	Kind    FaultKind
	Err     error
}

// FaultKind says what is wrong.
type FaultKind string

// The kinds of faults.
const (
	FaultCredentials FaultKind = "credentials" // another secret, or a certificate that is not accepted
	FaultUnreachable FaultKind = "unreachable" // nothing answers there as a host does
	FaultOtherHost   FaultKind = "other_host"  // another host answers there
	FaultLoopback    FaultKind = "loopback"    // this host advertises an address of its own machine alone
)

// FaultKinds returns all kinds.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultCredentials, FaultUnreachable, FaultOtherHost, FaultLoopback}
}

func kindOf(err error) FaultKind {
	switch {
	case errors.Is(err, errLoopback):
		return FaultLoopback
	case errors.Is(err, ErrCredentials):
		return FaultCredentials
	case errors.Is(err, ErrNotHere):
		return FaultOtherHost
	}
	return FaultUnreachable
}

// Problem says what is wrong, in one line.
func (f Fault) Problem() string {
	switch f.Kind {
	case FaultCredentials:
		return f.Host + " at " + f.Address + " has another cluster secret, or a certificate that is not accepted"
	case FaultOtherHost:
		return f.Host + " says that it is at " + f.Address + ", where another host answers"
	case FaultLoopback:
		return "this host says that it is at " + f.Address + ", which only its own machine reaches, and there are hosts on other machines"
	}
	return f.Host + " lives, but does not answer at " + f.Address
}

// Advice says what to do about it.
func (f Fault) Advice() string {
	switch {
	case f.Kind == FaultCredentials:
		return "give both hosts the same cluster.secret, or certificates of one authority for the addresses that they advertise, and restart the one that you change"
	case f.Kind == FaultLoopback:
		return "set cluster.advertise of this host to an address at which the others reach it, and restart it"
	case isLoopback(f.Address):
		return "set cluster.advertise of that host to an address at which others reach it, which a loopback address is not, and restart it"
	case f.Kind == FaultOtherHost:
		return "set cluster.advertise of that host to an address that leads to it alone, not to a load balancer, and restart it"
	}
	return "check cluster.advertise and cluster.listen of that host, and the firewalls on the way"
}

// isLoopback reports whether an address is one of every machine itself.
func isLoopback(address string) bool {
	name, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(name)
	return err == nil && (name == "localhost" || ip != nil && ip.IsLoopback())
}

// isElsewhere reports whether an address is surely not one of this machine.
func isElsewhere(ctx context.Context, address string, timeout time.Duration) bool {
	name, _, err := net.SplitHostPort(address)
	if err != nil || isLoopback(address) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupIPAddr(ctx, name)
	if err != nil || len(found) == 0 {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(found, func(there net.IPAddr) bool {
		return there.IP.IsLoopback() || there.IP.IsUnspecified() || slices.ContainsFunc(own, func(here net.Addr) bool {
			n, ok := here.(*net.IPNet)
			return ok && n.IP.Equal(there.IP)
		})
	})
}

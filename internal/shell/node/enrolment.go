package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/mutualtls"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
)

// Enrolment is what a gateway keeps of a node.
type Enrolment struct {
	Name    string `json:"name"`
	Address string `json:"address"` // HOST:PORT
	// Fingerprint is that of the node's key.
	Fingerprint string    `json:"fingerprint"`
	Enrolled    time.Time `json:"enrolled"`
}

// enrolmentFile is an enrolment with the gateway's key for this node: PEM.
type enrolmentFile struct {
	Enrolment
	Key string `json:"key"`
}

// Nodes are the nodes that a gateway is enrolled at.
type Nodes struct {
	store store

	mu     sync.Mutex
	open   map[string]*Node // by name
	closed bool
}

// Open returns the nodes of a directory, which need not exist yet.
func Open(dir string) *Nodes { return &Nodes{store: store{dir}, open: map[string]*Node{}} }

// namePattern is what a name has to match. It is a file name, too.
var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CheckName refuses what cannot name a node.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("%q cannot name a node: expected 1 to 63 lower-case letters, digits, - and _, with a letter or a digit first", name)
	}
	return nil
}

// CheckAddress refuses what is not HOST:PORT.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || host == "" || e != nil || n == 0 || len(address) > 300 {
		return fmt.Errorf("%q is not an address: expected HOST:PORT", address)
	}
	return nil
}

// ErrNoNode says that no node of that name is enrolled.
var ErrNoNode = errors.New("no such node is enrolled: quoin node list shows those that are, quoin node add adds one")

// Add enrols this gateway at the node that has made the token, under a name that is
// free. The gateway gets a new key for it. gateway is what the node is to call it.
func (n *Nodes) Add(ctx context.Context, name, address, tokenText, gateway string) (*Enrolment, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := CheckAddress(address); err != nil {
		return nil, err
	}
	t, err := parseToken(tokenText)
	if err != nil {
		return nil, err
	}
	if err := n.store.read(name, &enrolmentFile{}); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the name %s is taken: choose another, or remove the node first: quoin node remove %s", name, name)
	}
	key, err := mutualtls.New()
	if err != nil {
		return nil, err
	}
	e := enrolmentFile{Enrolment{name, address, t.node.String(), time.Now().UTC().Truncate(time.Second)}, string(key)}
	if err := n.redeem(ctx, e, t, gateway); err != nil {
		return nil, err
	}
	if err := n.store.create(name, e); err != nil {
		return nil, fmt.Errorf("the node has enrolled this gateway, but its key cannot be kept: %w", err)
	}
	return &e.Enrolment, nil
}

// redeem shows the node the token's secret. That the node has the key of the token is
// settled by the handshake, before the secret leaves.
func (n *Nodes) redeem(ctx context.Context, e enrolmentFile, t token, gateway string) error {
	remote, err := connect(e)
	if err != nil {
		return err
	}
	_, err = remote.client.Enrol(ctx, &nodepb.EnrolRequest{Secret: t.secret[:], Gateway: gateway})
	err = remote.failure(err)
	if errors.Is(err, ErrUnreachable) && strings.Contains(err.Error(), "tls: bad certificate") {
		// The node knows no key but those that are enrolled while no invitation is open.
		err = errNoInvitation
	}
	return errors.Join(err, remote.Close())
}

// List returns the enrolments, by name.
func (n *Nodes) List() ([]Enrolment, error) {
	names, err := n.store.names()
	if err != nil {
		return nil, err
	}
	all := make([]Enrolment, 0, len(names))
	for _, name := range names {
		e, err := n.read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, e.Enrolment)
	}
	return all, nil
}

// read reads and checks an enrolment.
func (n *Nodes) read(name string) (*enrolmentFile, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	e := &enrolmentFile{}
	if err := n.store.read(name, e); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", name, ErrNoNode)
	} else if err != nil {
		return nil, err
	}
	if err := e.check(name); err != nil {
		return nil, fmt.Errorf("%s: %w", n.store.path(name), err)
	}
	return e, nil
}

// check refuses a file that is not what Add has written.
func (e *enrolmentFile) check(name string) error {
	if e.Name != name {
		return fmt.Errorf("it is the enrolment of %q", e.Name)
	}
	if _, err := mutualtls.ParseFingerprint(e.Fingerprint); err != nil {
		return err
	}
	return CheckAddress(e.Address)
}

// Remove forgets a node, and ends what runs there for this gateway in this process. The
// node keeps its enrolment of the gateway, whose key is gone.
func (n *Nodes) Remove(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := n.store.remove(name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, ErrNoNode)
	} else if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.forget(name)
}

// Node returns an enrolled node. It connects when it is asked something.
func (n *Nodes) Node(name string) (*Node, error) {
	e, err := n.read(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, n.forget(name))
	}
	if n.closed {
		return nil, errors.New("the nodes are closed")
	}
	if open := n.open[name]; open != nil {
		if open.enrolment == *e {
			return open, nil
		}
		if err := n.forget(name); err != nil {
			return nil, err
		}
	}
	remote, err := connect(*e)
	if err != nil {
		return nil, err
	}
	n.open[name] = remote
	return remote, nil
}

// forget closes the connection to a node, if there is one. n.mu is held.
func (n *Nodes) forget(name string) error {
	open := n.open[name]
	if open == nil {
		return nil
	}
	delete(n.open, name)
	return open.Close()
}

// Close ends the connections, and with them what runs.
func (n *Nodes) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	var errs []error
	for name := range n.open {
		errs = append(errs, n.forget(name))
	}
	return errors.Join(errs...)
}

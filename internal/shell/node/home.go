package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/mutualtls"
)

// Home is the directory in which a node keeps its key, its invitations and the gateways
// that are enrolled. The node's process and the commands that manage it may use it at
// the same time.
type Home struct {
	dir                   string
	invitations, gateways store
}

// OpenHome returns the home in a directory, which need not exist yet.
func OpenHome(dir string) *Home {
	return &Home{dir: dir, invitations: store{filepath.Join(dir, "invitations")}, gateways: store{filepath.Join(dir, "gateways")}}
}

// invitation is the file of one. Its name is a digest of the secret.
type invitation struct {
	Expires time.Time `json:"expires"`
}

// Gateway is one that is enrolled at a node.
type Gateway struct {
	// Fingerprint is that of its key.
	Fingerprint string `json:"fingerprint"`
	// Name is what it calls itself.
	Name     string    `json:"name"`
	Enrolled time.Time `json:"enrolled"`
}

// The bounds of invitations: how long one may be open, and how many.
const (
	MaxInvitation  = 24 * time.Hour
	maxInvitations = 100
)

// Invite makes an invitation, which lets one gateway enrol until it expires. The token
// is a secret.
func (h *Home) Invite(valid time.Duration) (token string, err error) {
	if valid <= 0 || valid > MaxInvitation {
		return "", fmt.Errorf("an invitation is valid for %v at the most", MaxInvitation)
	}
	if err := h.sweep(); err != nil {
		return "", err
	}
	id, err := h.identity()
	if err != nil {
		return "", err
	}
	return h.invite(id, valid)
}

func (h *Home) invite(id *mutualtls.Identity, valid time.Duration) (string, error) {
	t := token{node: id.Fingerprint()}
	if _, err := rand.Read(t.secret[:]); err != nil {
		return "", err
	}
	err := h.invitations.create(invitationName(t.secret[:]), invitation{Expires: time.Now().Add(valid).UTC()})
	return t.String(), err
}

// sweep removes the invitations that have expired.
func (h *Home) sweep() error {
	names, err := h.invitations.names()
	if err != nil {
		return err
	}
	open := 0
	for _, name := range names {
		if _, err := h.openInvitation(name); err == nil {
			open++
		} else if err := h.invitations.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if open >= maxInvitations {
		return fmt.Errorf("there are %d open invitations: use one, or wait until they expire", open)
	}
	return nil
}

// errNoInvitation does not say why, as a stranger may read it.
var errNoInvitation = errors.New("the token does not count: it was used, it has expired, or it is of another node. quoin node invite makes a new one on the node")

// openInvitation reads an invitation that has not expired.
func (h *Home) openInvitation(name string) (*invitation, error) {
	i := &invitation{}
	if err := h.invitations.read(name, i); err != nil {
		return nil, err
	}
	if !time.Now().Before(i.Expires) {
		return nil, errNoInvitation
	}
	return i, nil
}

// invites reports whether a stranger could have an invitation.
func (h *Home) invites() bool {
	names, err := h.invitations.names()
	if err != nil {
		return false
	}
	for _, name := range names {
		if _, err := h.openInvitation(name); err == nil {
			return true
		}
	}
	return false
}

// redeem enrols a gateway that has the secret of an invitation. Whatever fails after the
// invitation is gone, it is gone: a secret never counts twice.
func (h *Home) redeem(secret []byte, gateway mutualtls.Fingerprint, name string) error {
	if len(secret) != secretBytes {
		return errNoInvitation
	}
	file := invitationName(secret)
	if _, err := h.openInvitation(file); err != nil {
		return errNoInvitation
	}
	if err := h.invitations.remove(file); err != nil {
		return errNoInvitation
	}
	return h.gateways.create(gateway.String(), Gateway{Fingerprint: gateway.String(), Name: name, Enrolled: time.Now().UTC().Truncate(time.Second)})
}

// gateway returns an enrolled gateway. It reads the file each time, so that one that was
// removed is a stranger at once.
func (h *Home) gateway(f mutualtls.Fingerprint) (*Gateway, error) {
	g := &Gateway{}
	if err := h.gateways.read(f.String(), g); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, mutualtls.ErrStranger
		}
		return nil, err
	}
	if g.Fingerprint != f.String() {
		return nil, fmt.Errorf("%s is the file of another gateway: remove it", h.gateways.path(f.String()))
	}
	return g, nil
}

// Gateways lists the gateways that are enrolled.
func (h *Home) Gateways() ([]Gateway, error) {
	names, err := h.gateways.names()
	if err != nil {
		return nil, err
	}
	all := make([]Gateway, 0, len(names))
	for _, name := range names {
		f, err := mutualtls.ParseFingerprint(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.gateways.path(name), err)
		}
		g, err := h.gateway(f)
		if err != nil {
			return nil, err
		}
		all = append(all, *g)
	}
	return all, nil
}

// ErrNoGateway says that no gateway with such a fingerprint is enrolled.
var ErrNoGateway = errors.New("no gateway with this fingerprint is enrolled: quoin node gateways lists them")

// RemoveGateway ends the enrolment of a gateway. Its next request is refused, and its
// processes are ended.
func (h *Home) RemoveGateway(fingerprint string) error {
	f, err := mutualtls.ParseFingerprint(fingerprint)
	if err != nil {
		return err
	}
	if err = h.gateways.remove(f.String()); errors.Is(err, fs.ErrNotExist) {
		return ErrNoGateway
	}
	return err
}

// identity reads the node's key, and makes it if there is no key yet.
func (h *Home) identity() (*mutualtls.Identity, error) {
	if err := (store{h.dir}).open(); err != nil {
		return nil, err
	}
	path := filepath.Join(h.dir, "key.pem")
	text, err := durable.ReadPrivate(path, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err != nil {
			return nil, err
		}
		text, err = durable.ReadPrivate(path, maxFileBytes)
	}
	if err != nil {
		return nil, err
	}
	id, err := mutualtls.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return id, nil
}

// makeKey writes a new key, unless another process was faster.
func makeKey(path string) error {
	text, err := mutualtls.New()
	if err != nil {
		return err
	}
	if err = durable.Create(path, text, durable.Options{}); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// awaitRemoval returns once a gateway is no longer enrolled, or ctx has ended.
func (h *Home) awaitRemoval(ctx context.Context, f mutualtls.Fingerprint) {
	tick := time.NewTicker(removalCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := os.Stat(h.gateways.path(f.String())); errors.Is(err, fs.ErrNotExist) {
				return
			}
		}
	}
}

// removalCheck is how often a process is held against the enrolment of its gateway.
const removalCheck = time.Second

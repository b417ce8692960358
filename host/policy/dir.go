package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
)

// The extensions of a store's files. An approval is never rewritten: its
// resolution is a second file, and creating it decides. The file system thus
// makes exactly one of several concurrent decisions count.
const (
	askExt   = ".ask"   // the approval as it was asked; never changed
	doneExt  = ".done"  // its resolution: the process that creates the file has decided
	grantExt = ".grant" // a grant
	tempExt  = ".tmp"   // a file that is being written
)

// grantPattern is what ids of grants look like.
var grantPattern = regexp.MustCompile(`^grt_[0-9a-f]{32}$`)

// maxGrants bounds the grants of a store.
const maxGrants = 10_000

// DirApprovals is a store in a directory. It survives the process, several
// processes may use it at the same time, and what one of them decides the others
// notice. Files have mode 0600, are sealed and written whole.
type DirApprovals struct {
	// MaxPending bounds the pending approvals. Defaults to DefaultMaxPending. Set
	// it before the first use.
	MaxPending int

	path     string
	sealer   *runstore.Sealer
	watchers watchers // told of what this process resolves
}

var _ Approvals = (*DirApprovals)(nil)

// OpenApprovals opens the store in path, creating the directory (mode 0700). The
// files are sealed with the key of the run store.
//
// Several processes may open the same path if they share the run store and
// therefore its key. A file that another key sealed reads as damaged.
func OpenApprovals(path string, runs *runstore.Dir) (*DirApprovals, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("directory of approvals: %w", err)
	}
	return &DirApprovals{path: path, sealer: runs.Sealer("approvals")}, nil
}

// file is the path of an id's file, or "" for what is not an id.
func (d *DirApprovals) file(id, ext string) string {
	if !idPattern.MatchString(id) && !(ext == grantExt && grantPattern.MatchString(id)) {
		return ""
	}
	return filepath.Join(d.path, id+ext)
}

// read decodes a sealed file into v.
//
// A file that fails its seal or does not decode is ErrCorrupt, and never a
// decision.
func (d *DirApprovals) read(id, ext string, v any) error {
	name := d.file(id, ext)
	if name == "" {
		return ErrNotFound
	}
	b, err := d.sealer.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case errors.Is(err, runstore.ErrCorrupt):
		return fmt.Errorf("%w: %s", ErrCorrupt, name)
	case err != nil:
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
	}
	return nil
}

// Add implements Approvals.
func (d *DirApprovals) Add(ctx context.Context, a *Approval) error {
	name := d.file(a.ID, askExt)
	if name == "" {
		return fmt.Errorf("approval id %q: expected apr_ and 32 hexadecimal digits", a.ID)
	}
	if err := d.checkRoom(ctx); err != nil {
		return err
	}
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return d.sealer.Create(name, b)
}

// checkRoom counts the files, and makes room if there is too little.
//
// It first expires what is over, then forgets decided approvals before their
// time. Only pending ones make the store full.
func (d *DirApprovals) checkRoom(ctx context.Context) error {
	limit := orDefault(d.MaxPending)
	for try := 0; ; try++ {
		asked, pending, err := d.count()
		switch {
		case err != nil:
			return err
		case pending < limit && asked < maxKeptFiles*limit:
			return nil
		case try == 0:
			err = d.Sweep(ctx, time.Now())
		case try == 1 && pending < limit:
			err = d.forgetSurplus(limit)
		default:
			return ErrFull
		}
		if err != nil {
			return err
		}
	}
}

// forgetSurplus removes resolved approvals before their time. What does not verify
// is left for the operator.
func (d *DirApprovals) forgetSurplus(limit int) error {
	ids, err := runstore.Names(d.path, doneExt)
	if err != nil {
		return err
	}
	var list []finishedApproval
	for _, id := range ids {
		o := finishedApproval{id: id}
		switch err := d.read(id, doneExt, &o.r); {
		case err == nil:
			list = append(list, o)
		case !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotFound):
			return err
		}
	}
	var errs []error
	for _, id := range surplus(list, limit) {
		errs = append(errs, d.forget(id))
	}
	return errors.Join(errs...)
}

// forget removes a resolved approval. The question goes first: an answer without
// one means nothing.
func (d *DirApprovals) forget(id string) error {
	return errors.Join(remove(d.file(id, askExt)), remove(d.file(id, doneExt)))
}

// count counts by names alone.
func (d *DirApprovals) count() (asked, pending int, err error) {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case askExt:
			asked++
			pending++
		case doneExt:
			pending--
		}
	}
	return asked, pending, err
}

// Get implements Approvals.
func (d *DirApprovals) Get(_ context.Context, id string) (*Approval, error) {
	var a Approval
	if err := d.read(id, askExt, &a); err != nil {
		return nil, err
	}
	if err := a.check(id); err != nil {
		return nil, err
	}
	var r Resolution
	err := d.read(id, doneExt, &r)
	switch {
	case errors.Is(err, ErrNotFound):
		return &a, nil
	case err != nil:
		return nil, err
	case !r.final():
		return nil, fmt.Errorf("%w: %s resolved as %q", ErrCorrupt, id, text.Cut(r.State, 64))
	}
	return r.apply(&a), nil
}

// check holds a stored approval to what Add was given.
func (a *Approval) check(id string) error {
	if a.ID != id || a.State != StatePending || a.Severity.rank() < 0 || (len(a.Allowed) == 0) == (len(a.Questions) == 0) {
		return fmt.Errorf("%w: %s", ErrCorrupt, id)
	}
	return nil
}

// final reports whether r is one of the ways in which an approval can end.
func (r Resolution) final() bool {
	answers, edited := len(r.Answers) > 0, len(r.Input) > 0
	switch r.State {
	case StateAllowed:
		return !answers && (r.Decision == AllowOnce || r.Decision == AllowAlways && !edited)
	case StateDenied:
		return r.Decision == Deny && !answers && !edited
	case StateAnswered:
		return r.Decision == "" && answers && !edited
	case StateExpired, StateCancelled:
		return r.Decision == "" && !answers && !edited
	}
	return false
}

// List implements Approvals.
func (d *DirApprovals) List(ctx context.Context) ([]*Approval, error) {
	ids, err := runstore.Names(d.path, askExt)
	if err != nil {
		return nil, err
	}
	out := make([]*Approval, 0, len(ids))
	for _, id := range ids {
		if a, err := d.Get(ctx, id); err == nil {
			out = append(out, a)
		}
	}
	byAge(out)
	return out, nil
}

// Resolve implements Approvals: the first to create the file has decided.
func (d *DirApprovals) Resolve(ctx context.Context, id string, r Resolution) (*Approval, error) {
	if _, err := d.Get(ctx, id); err != nil {
		return nil, err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := d.sealer.Create(d.file(id, doneExt), b); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	d.watchers.tell()
	return d.Get(ctx, id)
}

// Remember implements Approvals.
func (d *DirApprovals) Remember(_ context.Context, g Grant) error {
	name := d.file(g.ID, grantExt)
	if name == "" {
		return ErrNotFound
	}
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		ids, err := runstore.Names(d.path, grantExt)
		if err == nil && len(ids) >= maxGrants {
			err = fmt.Errorf("%w: %d grants, remove some", ErrFull, len(ids))
		}
		if err != nil {
			return err
		}
	}
	b, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return d.sealer.Replace(name, b)
}

// Grant implements Approvals.
func (d *DirApprovals) Grant(_ context.Context, id string) (*Grant, error) {
	var g Grant
	if err := d.read(id, grantExt, &g); err != nil {
		return nil, err
	}
	if g.ID != id || g.Severity.rank() < 0 {
		return nil, fmt.Errorf("%w: %s", ErrCorrupt, id)
	}
	return &g, nil
}

// Grants implements Approvals. It leaves out what it cannot read.
func (d *DirApprovals) Grants(ctx context.Context) ([]*Grant, error) {
	ids, err := runstore.Names(d.path, grantExt)
	if err != nil {
		return nil, err
	}
	out := make([]*Grant, 0, len(ids))
	for _, id := range ids {
		if g, err := d.Grant(ctx, id); err == nil {
			out = append(out, g)
		}
	}
	grantsByAge(out)
	return out, nil
}

// Forget implements Approvals.
func (d *DirApprovals) Forget(_ context.Context, id string) error {
	name := d.file(id, grantExt)
	if name == "" {
		return ErrNotFound
	}
	err := os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}

// Sweep implements Approvals. What does not verify is left for the operator.
func (d *DirApprovals) Sweep(ctx context.Context, now time.Time) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		id, ask := strings.CutSuffix(e.Name(), askExt)
		switch {
		case ask:
			errs = append(errs, d.sweepApproval(ctx, id, now))
		case filepath.Ext(e.Name()) == tempExt:
			if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > time.Hour {
				errs = append(errs, remove(filepath.Join(d.path, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// sweepApproval expires or forgets one approval whose time is over. A file that
// does not verify stays for the operator.
func (d *DirApprovals) sweepApproval(ctx context.Context, id string, now time.Time) error {
	a, err := d.Get(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrCorrupt):
		return nil
	case err != nil:
		return err
	case a.State == StatePending && !now.Before(a.Expires):
		_, err := d.Resolve(ctx, id, Resolution{State: StateExpired, At: now})
		return err
	case a.State != StatePending && now.Sub(a.Decided) > retention:
		return d.forget(id)
	}
	return nil
}

// remove is os.Remove of a file that others may remove too.
func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

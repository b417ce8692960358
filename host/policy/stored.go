package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/text"
)

// The kinds of documents. An approval is never rewritten: its resolution is a
// second document, and creating it decides. The driver thus makes exactly one of
// several concurrent decisions count.
const (
	askExt   = ".ask"   // the approval as it was asked; never changed
	doneExt  = ".done"  // its resolution: the process that creates it has decided
	grantExt = ".grant" // a grant
	goneExt  = ".gone"  // when a grant was revoked; kept until the grant would have ended
)

// grantPattern is what ids of grants look like.
var grantPattern = regexp.MustCompile(`^grt_[0-9a-f]{32}$`)

// maxGrants bounds the grants of a store.
const maxGrants = 10_000

// StoredApprovals is a store in a directory, or in the database of package
// host/postgres. It survives the process, several processes may use it at the same
// time, and what one of them decides the others notice. What it keeps is sealed and
// written whole.
type StoredApprovals struct {
	// MaxPending bounds the pending approvals. Defaults to DefaultMaxPending. Set
	// it before the first use.
	MaxPending int

	docs documents.Store
}

var _ Approvals = (*StoredApprovals)(nil)

// OpenApprovals opens the store in path, creating the directory (mode 0700). The
// files, of mode 0600, are sealed with the key of the run store.
//
// Several processes may open the same path if they share the run store and
// therefore its key. A file that another key sealed reads as damaged.
func OpenApprovals(path string, runs *runstore.Dir) (*StoredApprovals, error) {
	dir, err := documents.OpenDir(path, documents.DirOptions{})
	if err != nil {
		return nil, fmt.Errorf("directory of approvals: %w", err)
	}
	return NewStoredApprovals(documents.Sealed(dir, runs.Sealer("approvals"))), nil
}

// NewStoredApprovals returns the approvals that a driver keeps. Their contents are sealed. It
// is for drivers of this module.
func NewStoredApprovals(sealed documents.Store) *StoredApprovals {
	return &StoredApprovals{docs: sealed}
}

// nameOf is the name of an id's document, or "" for what is not an id.
func nameOf(id, ext string) string {
	if !idPattern.MatchString(id) && !(ext == grantExt && grantPattern.MatchString(id)) {
		return ""
	}
	return id + ext
}

// read decodes a document into v.
func (s *StoredApprovals) read(ctx context.Context, id, ext string, v any) error {
	name := nameOf(id, ext)
	if name == "" {
		return ErrNotFound
	}
	b, err := s.docs.Read(ctx, name)
	return s.decode(documents.Document{Name: name, Content: b, Err: err}, v)
}

// decode decodes what the driver has read.
//
// A document that fails its seal or does not decode is ErrCorrupt, and never a
// decision.
func (s *StoredApprovals) decode(doc documents.Document, v any) error {
	switch {
	case errors.Is(doc.Err, fs.ErrNotExist):
		return ErrNotFound
	case errors.Is(doc.Err, documents.ErrCorrupt):
		return fmt.Errorf("%w: %s", ErrCorrupt, s.docs.Location(doc.Name))
	case doc.Err != nil:
		return doc.Err
	}
	if err := json.Unmarshal(doc.Content, v); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, s.docs.Location(doc.Name), err)
	}
	return nil
}

// Add implements Approvals.
func (s *StoredApprovals) Add(ctx context.Context, a *Approval) error {
	name := nameOf(a.ID, askExt)
	if name == "" {
		return fmt.Errorf("approval id %q: expected apr_ and 32 hexadecimal digits", a.ID)
	}
	if err := s.checkRoom(ctx); err != nil {
		return err
	}
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return s.docs.Create(ctx, name, b, a.Expires)
}

// checkRoom counts the documents, and makes room if there is too little.
//
// It first expires what is over, then forgets decided approvals before their
// time. Only pending ones make the store full.
func (s *StoredApprovals) checkRoom(ctx context.Context) error {
	limit := orDefault(s.MaxPending)
	for try := 0; ; try++ {
		counts, err := s.docs.Counts(ctx)
		asked, pending := counts[askExt], counts[askExt]-counts[doneExt]
		switch {
		case err != nil:
			return err
		case pending < limit && asked < maxKeptStored*limit:
			return nil
		case try == 0:
			err = s.Sweep(ctx, time.Now())
		case try == 1 && pending < limit:
			err = s.forgetSurplus(ctx, limit)
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
func (s *StoredApprovals) forgetSurplus(ctx context.Context, limit int) error {
	docs, err := s.docs.All(ctx, doneExt)
	if err != nil {
		return err
	}
	var list []finishedApproval
	for _, doc := range docs {
		o := finishedApproval{id: strings.TrimSuffix(doc.Name, doneExt)}
		switch err := s.decode(doc, &o.r); {
		case err == nil:
			list = append(list, o)
		case !errors.Is(err, ErrCorrupt):
			return err
		}
	}
	return s.forget(ctx, surplus(list, limit)...)
}

// forget removes resolved approvals, which others may remove too. The questions go
// first: an answer without one means nothing.
func (s *StoredApprovals) forget(ctx context.Context, ids ...string) error {
	names := make([]string, 0, 2*len(ids))
	for _, ext := range []string{askExt, doneExt} {
		for _, id := range ids {
			names = append(names, nameOf(id, ext))
		}
	}
	if err := s.docs.Remove(ctx, names...); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Get implements Approvals.
func (s *StoredApprovals) Get(ctx context.Context, id string) (*Approval, error) {
	var a Approval
	if err := s.read(ctx, id, askExt, &a); err != nil {
		return nil, err
	}
	var r Resolution
	switch err := s.read(ctx, id, doneExt, &r); {
	case errors.Is(err, ErrNotFound):
		return a.stored(id, nil)
	case err != nil:
		return nil, err
	}
	return a.stored(id, &r)
}

// stored returns what a stored approval and its resolution say together. Without a
// resolution it is pending.
func (a *Approval) stored(id string, r *Resolution) (*Approval, error) {
	switch {
	case a.check(id) != nil:
		return nil, a.check(id)
	case r == nil:
		return a, nil
	case !r.final():
		return nil, fmt.Errorf("%w: %s resolved as %q", ErrCorrupt, id, text.Cut(r.State, 64))
	}
	return r.apply(a), nil
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
func (s *StoredApprovals) List(ctx context.Context) ([]*Approval, error) {
	// Resolutions come first: an approval that is forgotten in between is gone then, and
	// not pending.
	done, err := s.docs.All(ctx, doneExt)
	if err != nil {
		return nil, err
	}
	resolutions := make(map[string]documents.Document, len(done))
	for _, doc := range done {
		resolutions[strings.TrimSuffix(doc.Name, doneExt)] = doc
	}
	asked, err := s.docs.All(ctx, askExt)
	if err != nil {
		return nil, err
	}
	out := make([]*Approval, 0, len(asked))
	for _, doc := range asked {
		id := strings.TrimSuffix(doc.Name, askExt)
		a, r := new(Approval), (*Resolution)(nil)
		if resolution, ok := resolutions[id]; ok {
			r = new(Resolution)
			if s.decode(resolution, r) != nil {
				continue
			}
		}
		if s.decode(doc, a) != nil {
			continue
		}
		if a, err := a.stored(id, r); err == nil {
			out = append(out, a)
		}
	}
	byAge(out)
	return out, nil
}

// Resolve implements Approvals: the first to create the document has decided.
func (s *StoredApprovals) Resolve(ctx context.Context, id string, r Resolution) (*Approval, error) {
	a, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if clock, ok := s.docs.(documents.Clock); ok && r.State == StateExpired {
		now, err := clock.Earlier(ctx, r.At)
		if err != nil || now.Before(r.At) && now.Before(a.Expires) {
			return a, err
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := s.docs.Create(ctx, nameOf(id, doneExt), b, r.At.Add(retention)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return s.Get(ctx, id)
}

// Watch implements Approvals.
func (s *StoredApprovals) Watch(ctx context.Context) <-chan struct{} {
	return s.docs.Watch(ctx, doneExt)
}

// Remember implements Approvals.
func (s *StoredApprovals) Remember(ctx context.Context, g Grant) error {
	name := nameOf(g.ID, grantExt)
	if name == "" {
		return ErrNotFound
	}
	counts, err := s.docs.Counts(ctx)
	if err != nil {
		return err
	}
	if n := counts[grantExt]; n >= maxGrants {
		known, err := s.docs.Stamp(ctx, name)
		if err == nil && known == "" {
			err = fmt.Errorf("%w: %d grants, remove some", ErrFull, n)
		}
		if err != nil {
			return err
		}
	}
	b, err := json.Marshal(g)
	if err != nil {
		return err
	}
	ctx, unlock, err := s.docs.Lock(ctx, g.ID) // a move that is carrying the grant would put back what it has read
	if err != nil {
		return err
	}
	defer unlock()
	return s.docs.Replace(ctx, name, b, time.Time{})
}

// Grant implements Approvals.
func (s *StoredApprovals) Grant(ctx context.Context, id string) (*Grant, error) {
	name := nameOf(id, grantExt)
	if name == "" {
		return nil, ErrNotFound
	}
	b, err := s.docs.Read(ctx, name)
	g, err := s.grant(documents.Document{Name: name, Content: b, Err: err})
	if err != nil {
		return nil, err
	}
	b, err = s.docs.Read(ctx, id+goneExt)
	switch gone, err := s.revoked(documents.Document{Name: id + goneExt, Content: b, Err: err}); {
	case errors.Is(err, ErrNotFound):
		return g, nil
	case err != nil:
		return nil, err
	case !g.Created.After(gone):
		return nil, ErrNotFound
	}
	return g, nil
}

// revoked is the time in a document that says when a grant was revoked. Who can write to the driver could put the grant
// back, which is sealed as it was.
func (s *StoredApprovals) revoked(doc documents.Document) (at time.Time, err error) {
	return at, s.decode(doc, &at)
}

// grant is the grant in a document.
func (s *StoredApprovals) grant(doc documents.Document) (*Grant, error) {
	var g Grant
	if err := s.decode(doc, &g); err != nil {
		return nil, err
	}
	if g.ID+grantExt != doc.Name || g.Severity.rank() < 0 {
		return nil, fmt.Errorf("%w: %s", ErrCorrupt, s.docs.Location(doc.Name))
	}
	return &g, nil
}

// Grants implements Approvals. It leaves out what it cannot read.
func (s *StoredApprovals) Grants(ctx context.Context) ([]*Grant, error) {
	docs, err := s.docs.All(ctx, grantExt)
	if err != nil {
		return nil, err
	}
	revoked, err := s.docs.All(ctx, goneExt)
	if err != nil {
		return nil, err
	}
	gone := make(map[string]time.Time, len(revoked))
	for _, doc := range revoked {
		if at, err := s.revoked(doc); err == nil {
			gone[strings.TrimSuffix(doc.Name, goneExt)] = at
		}
	}
	out := make([]*Grant, 0, len(docs))
	for _, doc := range docs {
		g, err := s.grant(doc)
		if err != nil {
			continue
		}
		if at, ok := gone[g.ID]; !ok || g.Created.After(at) {
			out = append(out, g)
		}
	}
	grantsByAge(out)
	return out, nil
}

// Forget implements Approvals.
func (s *StoredApprovals) Forget(ctx context.Context, id string) error {
	name := nameOf(id, grantExt)
	if name == "" {
		return ErrNotFound
	}
	ctx, unlock, err := s.docs.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.revoke(ctx, id); err != nil {
		return err
	}
	err = s.docs.Remove(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}

// revoke notes that a grant is revoked: a copy of it does not come back.
func (s *StoredApprovals) revoke(ctx context.Context, id string) error {
	g, err := s.Grant(ctx, id)
	switch {
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrNotFound):
		return nil // it answers nothing
	case err != nil:
		return err
	}
	now := time.Now()
	if g.Created.After(now) { // by a clock that is ahead
		now = g.Created
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	end := g.Expires
	if end.IsZero() { // of a store that is older than the field
		end = g.Created.Add(DefaultRemember)
	}
	return s.docs.Replace(ctx, id+goneExt, b, end)
}

// Sweep implements Approvals. What does not verify is left for the operator.
func (s *StoredApprovals) Sweep(ctx context.Context, now time.Time) error {
	errs := []error{s.docs.Sweep(ctx, now, 0)}
	done, err := s.docs.Names(ctx, doneExt, time.Time{})
	if err != nil {
		return err
	}
	revoked, err := s.docs.Names(ctx, goneExt, now)
	if err != nil {
		return err
	}
	if err := s.docs.Remove(ctx, revoked...); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	resolved := make(map[string]bool, len(done))
	for _, name := range done {
		resolved[strings.TrimSuffix(name, doneExt)] = true
	}
	asked, err := s.docs.Names(ctx, askExt, now)
	if err != nil {
		return err
	}
	for _, name := range asked {
		if id := strings.TrimSuffix(name, askExt); !resolved[id] {
			errs = append(errs, s.sweepApproval(ctx, id, now))
		}
	}
	over, err := s.docs.Names(ctx, doneExt, now)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, name := range over {
		errs = append(errs, s.sweepApproval(ctx, strings.TrimSuffix(name, doneExt), now))
	}
	return errors.Join(errs...)
}

// sweepApproval expires or forgets one approval once its time is over. An approval that does
// not verify stays for the operator.
func (s *StoredApprovals) sweepApproval(ctx context.Context, id string, now time.Time) error {
	a, err := s.Get(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrCorrupt):
		return nil
	case err != nil:
		return err
	case a.State == StatePending && !now.Before(a.Expires):
		_, err := s.Resolve(ctx, id, Resolution{State: StateExpired, At: now})
		return err
	case a.State != StatePending && now.Sub(a.Decided) > retention:
		return s.forget(ctx, id)
	}
	return nil
}

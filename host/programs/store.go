package programs

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// Store has the programs of runs, and those that were saved. See the package comment
// for what every implementation promises.
type Store interface {
	// Keep keeps the program of a run until k.Expires, unless more than MaxKept are kept
	// after it. It takes the place of what was kept of the run; where k has no code, the
	// code stays. A program without code, or of more than MaxCode bytes, is not kept,
	// which is no error.
	Keep(ctx context.Context, k *Kept) error
	// Kept returns the program of a run. The error is NotFound without one.
	Kept(ctx context.Context, runID string) (*Kept, error)
	// AllKept returns what is kept, newest first.
	AllKept(ctx context.Context) ([]*Kept, error)
	// Put saves a program. The error is Exists if its name is taken for its audience,
	// unless replace is set, and Full if there are MaxPrograms. A program of a model
	// does not replace one of a person: the error is Exists.
	Put(ctx context.Context, p *Program, replace bool) error
	// Update puts a program in the place of old, one of the same name and audience that
	// List has returned. The error is Changed if another one is there by now, and NotFound
	// if it was removed.
	Update(ctx context.Context, old, p *Program) error
	// List returns all saved programs with their code, by name.
	List(ctx context.Context) ([]*Program, error)
	// Remove forgets a program. The error is NotFound if it is not there.
	Remove(ctx context.Context, p *Program) error
}

// Find returns the program that a session means by a name: a person's program before a
// model's, and a narrower audience before a wider one. The error is NotFound if there is no
// such program.
func Find(ctx context.Context, st Store, s codemode.Session, name string) (*Program, error) {
	list, err := visible(ctx, st, s)
	if err != nil {
		return nil, err
	}
	if found := named(list, name); len(found) > 0 {
		return found[0], nil
	}
	return nil, unknown(name, names(list))
}

// Only returns the program of a session that has that name and is for that audience; with
// "" it must be the only one of that name, else the error is Invalid. The error is NotFound
// without one.
func Only(ctx context.Context, st Store, s codemode.Session, name string, of Audience) (*Program, error) {
	if of != "" && of.width() < 0 {
		return nil, errorf(Invalid, "%.80q is no audience of a program, expected session, agent or everyone.", of)
	}
	list, err := visible(ctx, st, s)
	if err != nil {
		return nil, err
	}
	found := named(list, name)
	if len(found) == 0 {
		return nil, unknown(name, names(list))
	}
	var audiences []string
	for _, p := range found {
		if p.For == of || of == "" && len(found) == 1 {
			return p, nil
		}
		audiences = append(audiences, string(p.For))
	}
	if of != "" {
		return nil, errorf(NotFound, "There is no saved program %s for the audience %s, but for: %s.", name, of, strings.Join(audiences, ", "))
	}
	return nil, errorf(Invalid, "There are %[2]d saved programs %[1]s, for: %[3]s. Say which one: --for %[4]s, over HTTP ?for=%[4]s",
		name, len(found), strings.Join(audiences, ", "), audiences[0])
}

// named returns the programs of a list that have that name.
func named(list []*Program, name string) (out []*Program) {
	for _, p := range list {
		if p.Name == name {
			out = append(out, p)
		}
	}
	return out
}

func names(list []*Program) (out []string) {
	for _, p := range list {
		out = append(out, p.Name)
	}
	return slices.Compact(out)
}

// unknown says that there is no such program, and which are like it.
func unknown(name string, names []string) error {
	const most = 5
	e := errorf(NotFound, "There is no saved program %.80q.", name)
	switch {
	case len(names) == 0:
		e.Message += " No program is saved for this session."
	case len(names) <= most:
		e.Message += " There are: " + strings.Join(names, ", ") + "."
	default:
		e.Message += " tools.search(\"program\") and programs.list() find those that there are."
	}
	return e
}

// Visible returns the programs of a session, by name. If several programs have one name,
// it returns the one that Find returns.
func Visible(ctx context.Context, st Store, s codemode.Session) ([]*Program, error) {
	list, err := visible(ctx, st, s)
	return slices.CompactFunc(list, func(a, b *Program) bool { return a.Name == b.Name }), err
}

// visible returns all programs of a session, as byName orders them.
func visible(ctx context.Context, st Store, s codemode.Session) (out []*Program, err error) {
	all, err := st.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.VisibleTo(s) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, byName)
	return out, nil
}

// byName orders programs by name, and programs with one name as a session means them. A model
// may have taken a name before a person did, so that its program must not come first.
func byName(a, b *Program) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), a.ofModel()-b.ofModel(), a.For.width()-b.For.width(), strings.Compare(a.place(), b.place()))
}

// ofModel is 1 for a program that a model has saved, else 0.
func (p *Program) ofModel() int {
	if p.By == ByModel {
		return 1
	}
	return 0
}

func (a Audience) width() int {
	return slices.Index([]Audience{ForSession, ForAgent, ForEveryone}, a)
}

// Summaries returns programs without their code.
func Summaries(list []*Program) []*Program {
	out := make([]*Program, len(list))
	for i, p := range list {
		out[i] = p.summary()
	}
	return out
}

// staying returns the kept programs that may stay at that time, of a list that has the newest
// first.
func staying(list []*Kept, now time.Time) (stay []*Kept) {
	for _, k := range list {
		if len(stay) < MaxKept && now.Before(k.Expires) {
			stay = append(stay, k)
		}
	}
	return stay
}

// newestFirst orders kept programs.
func newestFirst(a, b *Kept) int {
	return cmp.Or(b.At.Compare(a.At), strings.Compare(a.RunID, b.RunID))
}

// merged is k with what was known of its run before.
func (k *Kept) merged(known *Kept) *Kept {
	out := *k
	if out.Code == "" && known != nil {
		out.Code, out.Language = known.Code, known.Language
		out.Title = cmp.Or(out.Title, known.Title)
	}
	return &out
}

package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

func openApprovals(t testing.TB, dir string) *policy.StoredApprovals {
	t.Helper()
	runs, err := runstore.OpenDir(filepath.Join(dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := policy.OpenApprovals(filepath.Join(dir, "approvals"), runs)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// stores runs a test on each kind of store. Two handles share what a directory
// store holds; of a memory store there is only one.
var stores = func(t *testing.T, f func(t *testing.T, one, other policy.Approvals)) {
	t.Run("memory", func(t *testing.T) {
		m := &policy.MemoryApprovals{MaxPending: 20}
		f(t, m, m)
	})
	t.Run("directory", func(t *testing.T) {
		dir := t.TempDir()
		one, other := openApprovals(t, dir), openApprovals(t, dir)
		one.MaxPending = 20
		f(t, one, other)
	})
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ask(hook string, r policy.ApprovalRequest) policy.Ask {
	if r.Severity == "" {
		r.Severity = policy.SeverityWarning
	}
	if r.Timeout == 0 {
		r.Timeout = time.Minute
	}
	if r.Allowed == nil {
		r.Allowed = []policy.Decision{policy.AllowOnce, policy.AllowAlways, policy.Deny}
	}
	return policy.Ask{Hook: hook, ApprovalRequest: r}
}

// add stores an approval that the asks lead to.
func add(t testing.TB, s policy.Approvals, c policy.Call, asks ...policy.Ask) *policy.Approval {
	t.Helper()
	if len(asks) == 0 {
		asks = []policy.Ask{ask("guard", policy.ApprovalRequest{Title: "Sure?"})}
	}
	a, err := policy.NewApproval(c, asks, epoch)
	if err == nil {
		err = s.Add(context.Background(), a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStoredApprovalsAreTheSame(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		a := add(t, one, call(`{"n":1}`))
		got, err := other.Get(t.Context(), a.ID)
		if d := cmp.Diff(a, got); d != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		if len(a.ID) < len("apr_")+32 || a.ID == add(t, one, call(`{"n":1}`)).ID {
			t.Errorf("id %q is not 128 random bits", a.ID)
		}
		if !got.Covers("run_1", "bridge:call:1", a.ToolID, json.RawMessage(`{"n":1}`)) || got.Covers("run_1", "bridge:call:1", a.ToolID, json.RawMessage(`{"n":2}`)) ||
			got.Covers("run_2", "bridge:call:1", a.ToolID, json.RawMessage(`{"n":1}`)) || got.Covers("run_1", "bridge:call:2", a.ToolID, json.RawMessage(`{"n":1}`)) {
			t.Error("an approval must cover its own call and input, and no other")
		}
		for _, id := range []string{"", "apr_0", "../runs/key", "apr_00000000000000000000000000000000", a.ID + "x", strings.ToUpper(a.ID)} {
			if _, err := other.Get(t.Context(), id); !errors.Is(err, policy.ErrNotFound) {
				t.Errorf("Get(%q): %v", id, err)
			}
			if _, err := policy.Decide(t.Context(), other, id, policy.AllowOnce, "", epoch); !errors.Is(err, policy.ErrNotFound) {
				t.Errorf("Decide(%q): %v", id, err)
			}
		}
	})
}

func TestLargeInputsAreCut(t *testing.T) {
	t.Parallel()
	a := add(t, &policy.MemoryApprovals{}, call(`{"text":"`+strings.Repeat("ä", 100_000)+`"}`))
	var shown string
	if err := json.Unmarshal(a.Input, &shown); err != nil || len(shown) > 64<<10 || !strings.HasPrefix(shown, `{"text":"ää`) || !a.InputCut || a.InputBytes != 200_011 {
		t.Errorf("%v, %d bytes shown of %d", err, len(shown), a.InputBytes)
	}
}

// TestDecisions: who decides, decides once; the same again is no error.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		allowed       []policy.Decision
		first, second policy.Decision
		at            time.Duration
		state         policy.State
		err, again    error
	}{
		{"allow twice", nil, policy.AllowOnce, policy.AllowOnce, 0, policy.StateAllowed, nil, nil},
		{"always twice", nil, policy.AllowAlways, policy.AllowAlways, 0, policy.StateAllowed, nil, nil},
		{"deny twice", nil, policy.Deny, policy.Deny, 0, policy.StateDenied, nil, nil},
		{"allow, deny", nil, policy.AllowOnce, policy.Deny, 0, policy.StateAllowed, nil, policy.ErrDecided},
		{"deny, allow", nil, policy.Deny, policy.AllowOnce, 0, policy.StateDenied, nil, policy.ErrDecided},
		{"once, always", nil, policy.AllowOnce, policy.AllowAlways, 0, policy.StateAllowed, nil, policy.ErrDecided},
		{"too late", nil, policy.AllowOnce, policy.AllowOnce, time.Minute, policy.StateExpired, policy.ErrExpired, policy.ErrExpired},
		{"not allowed", []policy.Decision{policy.AllowOnce, policy.Deny}, policy.AllowAlways, policy.AllowOnce, 0, policy.StatePending, policy.ErrNotAllowed, nil},
		{"no decision", nil, "yes", policy.Deny, 0, policy.StatePending, policy.ErrNotAllowed, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stores(t, func(t *testing.T, one, other policy.Approvals) {
				a := add(t, one, call(`{}`), ask("guard", policy.ApprovalRequest{Allowed: tc.allowed}))
				_, err := policy.Decide(t.Context(), other, a.ID, tc.first, "alice", epoch.Add(tc.at))
				if !errors.Is(err, tc.err) {
					t.Fatalf("first: %v, want %v", err, tc.err)
				}
				got, err := one.Get(t.Context(), a.ID)
				if err != nil || got.State != tc.state {
					t.Fatalf("state %s, %v, want %s", got.State, err, tc.state)
				}
				if got.State == policy.StateAllowed && (got.By != "alice" || got.Decision != tc.first || !got.Decided.Equal(epoch)) {
					t.Errorf("got %+v", got)
				}
				if _, err = policy.Decide(t.Context(), one, a.ID, tc.second, "bob", epoch.Add(tc.at)); !errors.Is(err, tc.again) {
					t.Errorf("second: %v, want %v", err, tc.again)
				}
			})
		})
	}
}

func TestCancelledApprovalsCannotBeDecided(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		a := add(t, one, call(`{}`))
		if _, err := one.Resolve(t.Context(), a.ID, policy.Resolution{State: policy.StateCancelled, At: epoch}); err != nil {
			t.Fatal(err)
		}
		if _, err := policy.Decide(t.Context(), other, a.ID, policy.AllowOnce, "", epoch); !errors.Is(err, policy.ErrCancelled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestOneDecisionWins: many decide at once, in both directions, through two
// handles; all learn the same.
func TestOneDecisionWins(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		for range 10 {
			a := add(t, one, call(`{}`))
			var wg sync.WaitGroup
			seen := make(chan policy.Decision, 16)
			for i := range cap(seen) {
				s, d := one, policy.AllowOnce
				if i%2 == 0 {
					s = other
				}
				if i%3 == 0 {
					d = policy.Deny
				}
				wg.Go(func() {
					got, err := policy.Decide(context.Background(), s, a.ID, d, "", epoch)
					if err != nil && !errors.Is(err, policy.ErrDecided) || (err == nil) != (got.Decision == d) {
						t.Errorf("%s: %v", d, err)
					}
					seen <- got.Decision
				})
			}
			wg.Wait()
			first := <-seen
			for range cap(seen) - 1 {
				if d := <-seen; d != first {
					t.Fatalf("one was told %s, another %s", first, d)
				}
			}
		}
	})
}

func TestGrants(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		unanswered := func(c policy.Call, asks ...policy.Ask) string {
			t.Helper()
			left, _, err := policy.Unanswered(t.Context(), other, c, asks, epoch)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range left {
				names = append(names, a.Hook)
			}
			return strings.Join(names, " ")
		}
		c := call(`{"n":1}`)
		shell := ask("shell", policy.ApprovalRequest{Subject: "git status"})
		a := add(t, one, c, ask("guard", policy.ApprovalRequest{}), shell)
		if _, err := policy.Decide(t.Context(), one, a.ID, policy.AllowAlways, "alice", epoch); err != nil {
			t.Fatal(err)
		}
		with := func(change func(*policy.Call)) policy.Call {
			c := call(`{"n":2}`)
			change(&c)
			return c
		}
		for _, tc := range []struct {
			name string
			c    policy.Call
			ask  policy.Ask
			want string
		}{
			{"the same", c, ask("guard", policy.ApprovalRequest{}), ""},
			{"another turn and session id of the same key", with(func(c *policy.Call) { c.Session.TurnID, c.Session.SessionID = "x", "y" }), ask("guard", policy.ApprovalRequest{}), ""},
			{"less severe", c, ask("guard", policy.ApprovalRequest{Severity: policy.SeverityInfo}), ""},
			{"the same subject", c, shell, ""},
			{"more severe", c, ask("guard", policy.ApprovalRequest{Severity: policy.SeverityCritical}), "guard"},
			{"another subject", c, ask("shell", policy.ApprovalRequest{Subject: "rm -rf /"}), "shell"},
			{"another hook", c, ask("new", policy.ApprovalRequest{}), "new"},
			{"another tool", with(func(c *policy.Call) { c.ToolID = "quoin:issues:issues_edit" }), ask("guard", policy.ApprovalRequest{}), "guard"},
			{"another agent", with(func(c *policy.Call) { c.Session.AgentID = "b" }), ask("guard", policy.ApprovalRequest{}), "guard"},
			{"another key", with(func(c *policy.Call) { c.Session.SessionKey = "x" }), ask("guard", policy.ApprovalRequest{}), "guard"},
			{"no identity", with(func(c *policy.Call) { c.Session = codemode.Session{} }), ask("guard", policy.ApprovalRequest{}), "guard"},
			{"asks each time", c, ask("guard", policy.ApprovalRequest{Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}}), "guard"},
		} {
			if got := unanswered(tc.c, tc.ask); got != tc.want {
				t.Errorf("%s: %q is left to ask, want %q", tc.name, got, tc.want)
			}
		}
		if got := unanswered(c, ask("guard", policy.ApprovalRequest{}), ask("new", policy.ApprovalRequest{})); got != "new" {
			t.Errorf("%q is left to ask, want new", got)
		}
		grants, err := other.Grants(t.Context())
		if err != nil || len(grants) != 2 || grants[0].By != "alice" || grants[0].ApprovalID != a.ID {
			t.Fatalf("%v, grants %+v", err, grants)
		}
		for _, g := range grants {
			if err := other.Forget(t.Context(), g.ID); err != nil {
				t.Error(err)
			}
			if err := one.Forget(t.Context(), g.ID); !errors.Is(err, policy.ErrNotFound) {
				t.Errorf("forgotten twice: %v", err)
			}
		}
		if got := unanswered(c, ask("guard", policy.ApprovalRequest{})); got != "guard" {
			t.Error("a grant was used after it was forgotten")
		}
	})
}

func TestCallersWithoutIdentityAreNotRemembered(t *testing.T) {
	t.Parallel()
	c := call(`{}`)
	c.Session = codemode.Session{}
	a, err := policy.NewApproval(c, []policy.Ask{ask("guard", policy.ApprovalRequest{})}, epoch)
	if err != nil || len(a.Allowed) != 2 {
		t.Errorf("%v, allowed %v", err, a.Allowed)
	}
	if _, err := policy.NewApproval(c, []policy.Ask{ask("guard", policy.ApprovalRequest{Allowed: []policy.Decision{policy.AllowAlways, policy.Deny}})}, epoch); err == nil {
		t.Error("nothing but deny is left, and yet a person is asked")
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		mine, theirs := call(`{}`), call(`{}`)
		theirs.Session.SessionID, theirs.RunID = "x", "run_2"
		a, b, c := add(t, one, mine), add(t, one, theirs), add(t, one, mine)
		if _, err := policy.Decide(t.Context(), one, c.ID, policy.Deny, "", epoch); err != nil {
			t.Fatal(err)
		}
		turn := mine.Session
		turn.TurnID = "another"
		for _, tc := range []struct {
			f    policy.Filter
			at   time.Duration
			want []string
		}{
			{policy.Filter{}, 0, []string{a.ID, b.ID}},
			{policy.Filter{Session: &turn}, 0, []string{a.ID}},
			{policy.Filter{RunID: "run_2"}, 0, []string{b.ID}},
			{policy.Filter{Session: &mine.Session, Resolved: true}, 0, []string{a.ID, c.ID}},
			{policy.Filter{}, time.Minute, nil},
		} {
			got, err := policy.Select(t.Context(), other, tc.f, epoch.Add(tc.at))
			ids := map[string]bool{}
			for _, a := range got {
				ids[a.ID] = true
			}
			for _, id := range tc.want {
				if !ids[id] {
					t.Errorf("%+v: %s is missing", tc.f, id)
				}
			}
			if err != nil || len(got) != len(tc.want) {
				t.Errorf("%+v: %v, %d approvals, want %d", tc.f, err, len(got), len(tc.want))
			}
		}
	})
}

func TestSweep(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		a, b := add(t, one, call(`{}`)), add(t, one, call(`{}`), ask("slow", policy.ApprovalRequest{Timeout: time.Hour}))
		sweep := func(at time.Duration) {
			if err := other.Sweep(t.Context(), epoch.Add(at)); err != nil {
				t.Fatal(err)
			}
		}
		state := func(id string) policy.State {
			got, err := one.Get(t.Context(), id)
			if errors.Is(err, policy.ErrNotFound) {
				return "gone"
			}
			if err != nil {
				t.Fatal(err)
			}
			return got.State
		}
		sweep(time.Minute)
		if state(a.ID) != policy.StateExpired || state(b.ID) != policy.StatePending {
			t.Errorf("states %s, %s", state(a.ID), state(b.ID))
		}
		sweep(24 * time.Hour)
		if state(a.ID) != policy.StateExpired || state(b.ID) != policy.StateExpired {
			t.Errorf("a decided approval must be kept for a day: %s, %s", state(a.ID), state(b.ID))
		}
		sweep(49 * time.Hour)
		if state(a.ID) != "gone" || state(b.ID) != "gone" {
			t.Errorf("states %s, %s", state(a.ID), state(b.ID))
		}
	})
}

func TestTooManyPending(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, _ policy.Approvals) {
		var last *policy.Approval
		asks := []policy.Ask{ask("guard", policy.ApprovalRequest{})}
		fill := func() (n int, err error) {
			for ; err == nil; n++ {
				if last, err = policy.NewApproval(call(`{}`), asks, time.Now()); err != nil {
					t.Fatal(err)
				}
				err = one.Add(t.Context(), last)
			}
			return n - 1, err
		}
		if n, err := fill(); n != 20 || !errors.Is(err, policy.ErrFull) {
			t.Fatalf("%d fit, then %v", n, err)
		}
		list, err := one.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := policy.Decide(t.Context(), one, list[0].ID, policy.Deny, "", time.Now()); err != nil {
			t.Fatal(err)
		}
		if n, _ := fill(); n != 1 {
			t.Errorf("%d fit after one was decided", n)
		}
	})
}

// TestWhatIsOverMakesRoom: however many approvals are over, there is room for another
// question; what people have decided is kept longest.
func TestWhatIsOverMakesRoom(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		decided, now := add(t, one, call(`{}`)), time.Now()
		if _, err := other.Resolve(t.Context(), decided.ID, policy.Resolution{State: policy.StateDenied, Decision: policy.Deny, At: now}); err != nil {
			t.Fatal(err)
		}
		for i := range 400 {
			a := add(t, one, call(`{}`))
			at := now.Add(time.Duration(i) * time.Second)
			if _, err := other.Resolve(t.Context(), a.ID, policy.Resolution{State: policy.StateCancelled, At: at}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := one.List(t.Context())
		if err != nil || len(list) > 10*20 {
			t.Errorf("%v, %d are kept", err, len(list))
		}
		if got, err := one.Get(t.Context(), decided.ID); err != nil || got.State != policy.StateDenied {
			t.Errorf("what a person decided: %+v, %v", got, err)
		}
	})
}

// TestWatch: a resolution through another handle is noticed.
func TestWatch(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, one, other policy.Approvals) {
		changed := one.Watch(t.Context())
		for range 5 {
			a := add(t, one, call(`{}`))
			if _, err := policy.Decide(t.Context(), other, a.ID, policy.AllowOnce, "", epoch); err != nil {
				t.Fatal(err)
			}
			for {
				<-changed
				if got, err := one.Get(t.Context(), a.ID); err != nil {
					t.Fatal(err)
				} else if got.State == policy.StateAllowed {
					break
				}
			}
		}
	})
}

// TestForgedFilesAreRefused: nothing without the installation's seal counts, and
// no file counts under another name.
func TestForgedFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	s, foreign := openApprovals(t, dir), openApprovals(t, elsewhere)
	path := func(dir, id, ext string) string { return filepath.Join(dir, "approvals", id+ext) }
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	decided := func(s policy.Approvals) *policy.Approval {
		a := add(t, s, call(`{}`))
		if _, err := policy.Decide(t.Context(), s, a.ID, policy.AllowAlways, "", epoch); err != nil {
			t.Fatal(err)
		}
		return a
	}
	ours, theirs := decided(s), decided(foreign)
	genuine := read(path(dir, ours.ID, ".done"))
	for _, tc := range []struct {
		name string
		b    []byte
	}{
		{"plain JSON", []byte(`{"state":"allowed","decision":"allow-once"}`)},
		{"of another approval", genuine},
		{"of another installation", read(path(elsewhere, theirs.ID, ".done"))},
		{"torn", genuine[:len(genuine)/2]},
		{"empty", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := add(t, s, call(`{}`))
			write(path(dir, a.ID, ".done"), tc.b)
			if got, err := s.Get(t.Context(), a.ID); !errors.Is(err, policy.ErrCorrupt) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	t.Run("an approval under another id", func(t *testing.T) {
		id := "apr_" + strings.Repeat("0", 32)
		write(path(dir, id, ".ask"), read(path(dir, ours.ID, ".ask")))
		if got, err := s.Get(t.Context(), id); !errors.Is(err, policy.ErrCorrupt) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a grant of another installation", func(t *testing.T) {
		grants, err := s.Grants(t.Context())
		if err != nil || len(grants) != 1 {
			t.Fatalf("%v, %d grants", err, len(grants))
		}
		write(path(dir, grants[0].ID, ".grant"), read(path(elsewhere, grants[0].ID, ".grant")))
		if left, _, err := policy.Unanswered(t.Context(), s, call(`{}`), []policy.Ask{ask("guard", policy.ApprovalRequest{})}, epoch); err == nil {
			t.Errorf("%d asks left, want an error", len(left))
		}
	})
	files, err := os.ReadDir(filepath.Join(dir, "approvals"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 || strings.HasSuffix(f.Name(), ".tmp") {
			t.Errorf("%s has mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

// FuzzStoredApprovals reads files that another program wrote, with and without the
// right seal. Nothing unsealed may come back.
func FuzzStoredApprovals(f *testing.F) {
	f.Add([]byte(`{}`), []byte(`{"state":"allowed","decision":"allow-once"}`), true)
	f.Add([]byte(`{"id":"apr_00000000000000000000000000000000","state":"pending","severity":"info","allowedDecisions":["deny"]}`), []byte(`{"state":"denied","decision":"allow-once"}`), true)
	f.Add([]byte("QUOINRUNO"), []byte(""), false)
	dir := f.TempDir()
	runs, err := runstore.OpenDir(filepath.Join(dir, "runs"))
	if err != nil {
		f.Fatal(err)
	}
	s, err := policy.OpenApprovals(filepath.Join(dir, "approvals"), runs)
	if err != nil {
		f.Fatal(err)
	}
	sealer := runs.Sealer("approvals")
	const id, grant = "apr_00000000000000000000000000000000", "grt_00000000000000000000000000000000"
	f.Fuzz(func(t *testing.T, ask, done []byte, sealed bool) {
		for ext, b := range map[string][]byte{id + ".ask": ask, id + ".done": done, grant + ".grant": done} {
			if sealed {
				b = sealer.Seal(ext, b)
			}
			if err := os.WriteFile(filepath.Join(dir, "approvals", ext), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a, err := s.Get(context.Background(), id)
		if err == nil && (!sealed || a.ID != id || a.State == "" || len(a.Allowed) == 0) {
			t.Fatalf("got %+v", a)
		}
		if err == nil && a.State == policy.StateAllowed && a.Decision != policy.AllowOnce && a.Decision != policy.AllowAlways {
			t.Fatalf("allowed by %q", a.Decision)
		}
		if g, err := s.Grant(context.Background(), grant); err == nil && !sealed {
			t.Fatalf("got %+v", g)
		}
		if _, err := policy.Select(context.Background(), s, policy.Filter{Resolved: true}, epoch); err != nil {
			t.Fatal(err)
		}
		if err := s.Sweep(context.Background(), epoch); err != nil {
			t.Fatal(fmt.Errorf("sweep: %w", err))
		}
	})
}

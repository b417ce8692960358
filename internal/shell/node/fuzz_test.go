package node

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/quoinhq/quoin/internal/mutualtls"
	"github.com/quoinhq/quoin/internal/shell/node/nodepb"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// FuzzJob reads any bytes as what a gateway sends: what is let through keeps the limits,
// and is the same after another trip.
func FuzzJob(f *testing.F) {
	for _, m := range []*nodepb.Job{
		{Line: "echo hello", Dir: "/srv", Env: map[string]string{"A": "b"}},
		{Line: "ls", AllowList: &nodepb.AllowList{Allow: []string{"ls"}, Rules: []*nodepb.Rule{{Command: []string{"git", "*"}, Match: []string{"git x"}}}}},
		{Line: "\x00"},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &nodepb.Job{}
		if proto.Unmarshal(data, m) != nil {
			return
		}
		j, err := jobOf(m)
		if err != nil {
			return
		}
		if len(j.Line) > settings.MaxCommandBytes || len(j.Env) > maxVariables || j.Allow != nil && len(j.Allow.Allow) > maxRules {
			t.Errorf("a limit is broken: %+v", j)
		}
		again, err := jobOf(j.message())
		if err != nil || again.Line != j.Line || again.Dir != j.Dir || len(again.Env) != len(j.Env) || (again.Allow == nil) != (j.Allow == nil) {
			t.Errorf("%+v, %v; was %+v", again, err, j)
		}
	})
}

// FuzzVerdict reads any bytes as what a node says: no policy is laxer than one that exists.
func FuzzVerdict(f *testing.F) {
	data, err := proto.Marshal(&nodepb.JudgeReply{Allowed: true, Security: "allowlist", Ask: "off", Effective: []*nodepb.Effective{{Path: "/bin/ls", Argv: []string{"ls"}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &nodepb.JudgeReply{}
		if proto.Unmarshal(data, m) != nil {
			return
		}
		v := verdictOf(m)
		known := m.Security == string(settings.Allowlist) || m.Security == string(settings.Full)
		if !known && v.Outcome() != Refused || v.Outcome() == Runs && !m.Allowed {
			t.Errorf("%s of %+v", v.Outcome(), v)
		}
	})
}

// FuzzToken reads any text as a token.
func FuzzToken(f *testing.F) {
	f.Add(token{}.String())
	f.Add(" " + token{node: mutualtls.Fingerprint{1}}.String() + "\n")
	f.Add(tokenPrefix)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseToken(s)
		if err != nil {
			return
		}
		if again, err := parseToken(v.String()); err != nil || again != v {
			t.Errorf("%q: %v", s, err)
		}
	})
}

// FuzzEnrolment reads any bytes as the file of an enrolment.
func FuzzEnrolment(f *testing.F) {
	key, err := mutualtls.New()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"name":"n","address":"h:1","fingerprint":"` + mutualtls.Fingerprint{}.String() + `","key":""}`))
	f.Add(key)
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "n.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		nodes := Open(dir)
		if e, err := nodes.read("n"); err == nil && (e.Name != "n" || CheckAddress(e.Address) != nil) {
			t.Errorf("%+v", e.Enrolment)
		}
		n, err := nodes.Node("n")
		if err == nil {
			if _, err := mutualtls.ParseFingerprint(n.enrolment.Fingerprint); err != nil {
				t.Error(err)
			}
		}
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/command"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// TestWhatASubjectStandsFor: an approval holds for no call that would do something else.
func TestWhatASubjectStandsFor(t *testing.T) {
	t.Parallel()
	subjects := map[string]string{}
	for name, change := range map[string]func(*plan){
		"as it is":       func(*plan) {},
		"another node":   func(p *plan) { p.node = "build-2" },
		"another host":   func(p *plan) { p.host = settings.Gateway },
		"another line":   func(p *plan) { p.judgement.Subject = "git push" },
		"a directory":    func(p *plan) { p.dir = "/tmp" },
		"an environment": func(p *plan) { p.in.Env = map[string]string{"A": "1"} },
		"a terminal":     func(p *plan) { p.in.PTY = true },
		"elevated":       func(p *plan) { p.elevated = true },
	} {
		p := &plan{policy: policy{host: settings.Node, node: "build-1"}, judgement: command.Judgement{Subject: "git status"}}
		change(p)
		subject := p.makeSubject([]string{"sudo"})
		if other, taken := subjects[subject]; taken {
			t.Errorf("%s and %s have one subject", name, other)
		}
		subjects[subject] = name
	}
}

// TestWorkdirsOfTheSandbox are those that commands there see.
func TestWorkdirsOfTheSandbox(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"work/sub", "read", "work-2"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	in := func(path string) string { return filepath.Join(root, path) }
	s := &shell{workdir: in("work"), settings: &settings.Settings{}}
	s.settings.Sandbox.Read = []string{in("read")}
	for asked, want := range map[string]string{
		"": in("work"), "sub": in("work/sub"), in("read"): in("read"), in("work/sub/.."): in("work"),
		in("work-2"): "", "..": "", "/": "", "none": "",
	} {
		dir, err := s.resolveWorkdir(settings.Sandbox, asked)
		if dir != want || (err == nil) != (want != "") {
			t.Errorf("%q in the sandbox: %q, %v; want %q", asked, dir, err, want)
		}
	}
	if dir, err := s.resolveWorkdir(settings.Gateway, in("work-2")); dir != in("work-2") || err != nil {
		t.Errorf("on the gateway: %q, %v", dir, err)
	}
}

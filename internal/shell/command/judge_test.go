package command

import (
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// TestJudgement: what is allowed is run by the absolute path, with every word quoted.
func TestJudgement(t *testing.T) {
	j := newJudge(t, func(s *settings.Settings) { s.Allow = []string{"ls", "cat", "grep", "find", "wc"} })
	for _, line := range []string{
		"ls -la", "cat go.mod | grep -v foo | wc -l", "cd src && ls", "env LANG=C ls", "timeout 5 nice -n 3 cat x", "sh -c 'ls; cat x'",
		"find . -name '*.go' -exec grep -l x {} +", "ls 2>/dev/null", "cat < x", "find . -type f | xargs grep x", "(ls; cat y) | wc -l", "ls *.go src/*",
	} {
		g := j.Judge(line, nil)
		t.Logf("%s\n\t%s\n\t%v %q", line, g.Line, g.Subject != "", g.Reasons)
		if !g.Allowed {
			t.Errorf("%s: %q", line, g.Reasons)
		}
	}
	for _, line := range []string{
		"rm x", "ls $(rm x)", "ls `rm x`", "ls > x", "env sh -c 'rm x'", "./ls", "/tmp/ls", "find . -delete", "find . -exec rm {} ;", "LD_PRELOAD=x ls", "ls & rm x", "bash -c 'ls; rm x'",
		"xargs rm", "ls\rrm", "busybox rm", "eval ls", "exec ls", "X=1", "ls $X", "find . | xargs sh -c ls", "ls \"$(id)\"", "a() { ls; }", "cat <(ls)",
	} {
		if g := j.Judge(line, nil); g.Allowed || len(g.Reasons) == 0 {
			t.Errorf("%s: allowed as %s", line, g.Line)
		} else {
			t.Logf("%q: %q %v", line, g.Reasons, g.Effective)
		}
	}
}

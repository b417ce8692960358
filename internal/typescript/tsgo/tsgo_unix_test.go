//go:build unix

package tsgo

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestABuildThatStandsStillIsMadeAgain has a go command that hangs as often as a file says.
func TestABuildThatStandsStillIsMadeAgain(t *testing.T) {
	const hangs = `#!/bin/sh
echo >> tries
[ $(wc -l < tries) -gt $(cat hangs) ] && exec touch built
read never < pipe
`
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(hangs), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, c := range []struct {
		hangs string
		limit time.Duration
		want  error
	}{{"0", time.Minute, nil}, {"1", 2 * time.Second, nil}, {"2", time.Millisecond, errStandsStill}} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hangs"), []byte(c.hangs), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := install(t.Context(), dir, c.limit)
		_, built := os.Stat(filepath.Join(dir, "built"))
		if !errors.Is(err, c.want) || (built == nil) != (c.want == nil) {
			t.Errorf("a go command that hangs %s times: %v, built: %v", c.hangs, err, built)
		}
	}
}

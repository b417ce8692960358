package launch

import (
	"io"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

func TestACommandRuns(t *testing.T) {
	p, err := New().Start(t.Context(), execution.Command{
		Argv: []string{"/bin/sh", "-c", "cat; echo $A; echo err >&2; pwd; sleep 1000 & setsid sleep 1001 & exit 3"},
		Dir:  "/", Env: []string{"A=b", "PATH=/bin:/usr/bin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "hello\nb\nerr\n/\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	exit, err := p.Wait()
	if err != nil || exit != (execution.Exit{Code: 3}) {
		t.Errorf("%+v, %v", exit, err)
	}
}

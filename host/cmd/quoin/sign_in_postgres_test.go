package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestPostgresSignInMoves: a sign-in goes from a directory to a database, which has another
// key, and is in one of them.
func TestPostgresSignInMoves(t *testing.T) {
	t.Parallel()
	address, _ := newLoginServer(t)
	dir := t.TempDir()
	config, database := filepath.Join(dir, "quoin.json5"), filepath.Join(dir, "database")
	writeFile(t, config, `{ mcp: { servers: { tracker: { url: "`+address+`" } } } }`)
	writeFile(t, database, postgrestest.Database(t))
	stderr := &following{opened: make(chan error, 1)}
	do := func(code int, want string, args ...string) {
		t.Helper()
		var stdout bytes.Buffer
		stderr.text.Reset()
		args = append(args, "--config", config, "--set", "state.keyFile="+filepath.Join(dir, "key"))
		if got := run(t.Context(), args, strings.NewReader(""), &stdout, stderr); got != code || !strings.Contains(stdout.String()+stderr.text.String(), want) {
			t.Fatalf("%q: exit code %d, want %d and %q\n%s%s", args, got, code, want, &stdout, &stderr.text)
		}
	}
	state := "--state=" + filepath.Join(dir, "state")
	do(0, "", "exec", "-e", "return 1", state)
	do(0, "", "state", "migrate", "--state=file:"+database)
	do(0, "signed in", "mcp", "login", "tracker", "--no-browser", state)
	if err := <-stderr.opened; err != nil {
		t.Fatal(err)
	}
	do(0, "sign-ins: ", "state", "move", state, "--to=file:"+database)
	do(0, "tracker is connected", "mcp", "test", "tracker", "--state=file:"+database)
	do(1, "needs sign-in", "mcp", "test", "tracker", state)
	do(0, "sign-ins: ", "state", "move", "--state=file:"+database, "--to="+filepath.Join(dir, "state"))
	do(0, "tracker is connected", "mcp", "test", "tracker", state)
}

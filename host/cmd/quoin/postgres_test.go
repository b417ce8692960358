package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestPostgresScripts runs the scripts that need a database; each has two empty ones.
func TestPostgresScripts(t *testing.T) {
	t.Parallel()
	postgrestest.Need(t)
	p := scripts(t, "postgres")
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Vars = append(e.Vars, "DATABASE="+postgrestest.Database(t), "SECOND="+postgrestest.Database(t))
		bin, err := postgrestest.Programs()
		if err != nil {
			return err
		}
		e.Setenv("PATH", e.Getenv("PATH")+string(filepath.ListSeparator)+bin) // psql
		return setup(e)
	}
	testscript.Run(t, p)
}

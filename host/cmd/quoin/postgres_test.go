package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestPostgresScripts runs the scripts that need a database; each has an empty one.
func TestPostgresScripts(t *testing.T) {
	postgrestest.Need(t)
	p := scripts(t, "postgres")
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Vars = append(e.Vars, "DATABASE="+postgrestest.Database(t))
		return setup(e)
	}
	testscript.Run(t, p)
}

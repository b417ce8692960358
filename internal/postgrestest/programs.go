package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// places are where systems keep the server's programs, next to what pg_config and
// PATH say. Distributions keep them out of PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/libexec/postgresql*",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/usr/local/pgsql/bin",
}

// needed are the programs that this package and its users run.
var needed = []string{"initdb", "postgres", "pg_ctl", "createdb", "dropdb", "pg_basebackup", "psql"}

// programs finds the folder that has all of them: the newest of a system's.
var programs = sync.OnceValues(func() (string, error) {
	var folders []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, place := range places {
		found, _ := filepath.Glob(place) // the patterns are constant and well formed
		for i := range found {
			folders = append(folders, found[len(found)-1-i])
		}
	}
	for _, folder := range folders {
		if complete(folder) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("there is no PostgreSQL server on this machine: no folder has %s "+
		"(Debian: apt-get install postgresql); looked into %s",
		strings.Join(needed, ", "), strings.Join(append(folders, places...), ", "))
})

func complete(folder string) bool {
	for _, name := range needed {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	return true
}

// Programs is the folder of PostgreSQL's programs, such as psql.
func Programs() (string, error) { return programs() }

// Missing says what this machine lacks to start a server, or is nil.
func Missing() error {
	_, err := programs()
	return err
}

// program returns a command of PostgreSQL that runs as a user who may run a server.
// It inherits nothing that could direct it to another server.
func program(name string, args ...string) (*exec.Cmd, error) {
	folder, err := programs()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(folder, name), args...)
	cmd.Env = []string{"PATH=" + folder + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=/"}
	cmd.Dir = "/"
	unprivileged(cmd)
	return cmd, nil
}

// run waits for a command of PostgreSQL and puts what it wrote into the error. Its
// output is a file, because a server that pg_ctl starts keeps it open.
func run(name string, args ...string) error {
	cmd, err := program(name, args...)
	if err != nil {
		return err
	}
	out, err := os.CreateTemp("", "quoin-postgres-*.log")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name()) // the command's own error is the one to tell
		return fmt.Errorf("%s: %w: %s", name, err, text)
	}
	return nil
}

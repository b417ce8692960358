package postgrestest

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// folder is the temporary folder of the process, with a data directory that initdb
// has filled and that each server is a copy of.
type folder struct {
	path     string
	template string
	password string
	keeper   *os.File // closed when this process ends
}

// keep stops what still runs when its standard input ends, and removes the folder.
const keep = `cat >/dev/null
for pid in "$1"/*/postmaster.pid; do
	if [ -f "$pid" ]; then "$0/pg_ctl" stop -s -D "${pid%/*}" -m immediate; fi
done
rm -rf "$1"`

// process is made once. Its keeper starts first, so that nothing can be left.
var process = sync.OnceValues(func() (*folder, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// A socket's path has at most 107 bytes.
	path, err := os.MkdirTemp("", "qpg")
	if err != nil {
		return nil, err
	}
	if err := giveAway(path); err != nil {
		return nil, err
	}
	f := &folder{path: path, template: filepath.Join(path, "template"), password: rand.Text()}
	if err := f.startKeeper(bin); err != nil {
		return nil, fmt.Errorf("start what removes %s: %w", path, err)
	}
	secret := filepath.Join(path, "password")
	if err := os.WriteFile(secret, []byte(f.password), 0o600); err != nil {
		return nil, err
	}
	if err := giveAway(secret); err != nil {
		return nil, err
	}
	err = run("initdb", "-D", f.template, "-U", user, "--pwfile", secret, "-E", "UTF8", "--locale", "C",
		"--auth-local", "trust", "--auth-host", "scram-sha-256", "--no-sync")
	if err != nil {
		return nil, err
	}
	return f, f.admitAddresses()
})

func (f *folder) startKeeper(bin string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd := exec.Command("sh", "-c", keep, bin, f.path)
	cmd.Stdin, cmd.Dir = read, "/"
	unprivileged(cmd)
	f.keeper = write
	return cmd.Start()
}

// admitAddresses lets hosts in network namespaces and standbys in, by password.
func (f *folder) admitAddresses() error {
	return appendTo(filepath.Join(f.template, "pg_hba.conf"), "\n"+
		"host all all all scram-sha-256\n"+
		"host replication all all scram-sha-256\n")
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

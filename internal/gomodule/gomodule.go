// Package gomodule fetches the files of a Go module that no go.mod names, by its
// checksum. The go command does the work and keeps the files in its module cache.
package gomodule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Fetch returns the directory of a module's files, which are read-only. The sum is the
// one in go.sum, and holds whatever the settings of the go command say of checksums.
func Fetch(path, version, sum string) (dir string, err error) {
	// Outside of every module, and of what its workspace or vendor directory says.
	empty, err := os.MkdirTemp("", "quoin-module-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(empty)
	cmd := exec.Command("go", "mod", "download", "-json", path+"@"+version)
	cmd.Dir = empty
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "GONOSUMDB="+path)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	var m struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &m); err == nil {
		err = jsonErr
	}
	if err != nil {
		return "", fmt.Errorf("fetch %s@%s: %w\n%s%s", path, version, err, m.Error, said.Bytes())
	}
	if m.Sum != sum {
		return "", fmt.Errorf("%s@%s has the checksum %s, expected %s", path, version, m.Sum, sum)
	}
	return m.Dir, nil
}

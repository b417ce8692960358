//go:build unix

package paths

import (
	"fmt"
	"io/fs"

	"github.com/quoinhq/quoin/internal/ownership"
)

// checkOwn returns an error if another user could have written a configuration file, or
// could put one in its place.
func checkOwn(path string, st fs.FileInfo) error {
	if mode := st.Mode().Perm(); mode&0o022 != 0 {
		remedy := "name another file with --config"
		if command := ownership.Repair("go-w", path, st); command != "" {
			remedy = "run " + command
		}
		return fmt.Errorf("configuration file %s has mode %04o, so that others can write it: %s", path, mode, remedy)
	}
	if err := ownership.CheckState(path); err != nil {
		return fmt.Errorf("configuration file: %w; or name the file with --config", err)
	}
	return nil
}

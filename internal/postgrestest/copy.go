package postgrestest

import (
	"fmt"
	"os/exec"
)

// copyFolder copies a data directory into an empty one, with its owner and modes, which
// PostgreSQL checks.
func copyFolder(from, to string) error {
	cmd := exec.Command("cp", "-Rp", from+"/.", to)
	cmd.Dir = "/"
	unprivileged(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cp %s: %w: %s", from, err, out)
	}
	return nil
}

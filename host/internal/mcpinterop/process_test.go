//go:build interop && linux

package mcpinterop_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// isServer reports whether a process runs a server of that name.
func isServer(t *testing.T, pid int, name string) bool {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false // it has ended
	}
	return bytes.Contains(line, []byte(name))
}

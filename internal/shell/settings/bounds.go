package settings

import (
	"fmt"
	"path/filepath"
)

// checkNumbers refuses numbers out of their bounds.
func (s *Settings) checkNumbers() error {
	const day, gib = 24 * 60 * 60, 1 << 30
	for _, b := range []struct {
		field           string
		value, min, max int64
	}{
		{"yieldMs", s.YieldMs, MinYield.Milliseconds(), MaxYield.Milliseconds()},
		{"timeoutSeconds", s.TimeoutSeconds, 1, day},
		{"outputBytes", s.OutputBytes, 1 << 10, 16 << 20},
		{"maxProcesses", s.MaxProcesses, 1, 256},
		{"keepSeconds", s.KeepSeconds, 1, 30 * day},
		{"approvalTimeoutSeconds", s.ApprovalTimeoutSeconds, 1, 30 * day},
		{"sandbox.memoryBytes", s.Sandbox.MemoryBytes, 16 << 20, 1024 * gib},
		{"sandbox.processes", s.Sandbox.Processes, 1, 1 << 16},
		{"sandbox.fileBytes", s.Sandbox.FileBytes, 1 << 10, 1024 * gib},
	} {
		if b.value < b.min || b.value > b.max {
			return fmt.Errorf("%s: %d is not between %d and %d", b.field, b.value, b.min, b.max)
		}
	}
	return nil
}

// checkPrefix refuses a program of elevated commands that would be looked for.
func (s *Settings) checkPrefix() error {
	if p := s.Elevated.Prefix; len(p) > 0 && !filepath.IsAbs(p[0]) {
		return fmt.Errorf("elevated.prefix: %q is not an absolute path", p[0])
	}
	return nil
}

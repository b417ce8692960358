//go:build linux

package plugins

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

const document = "../docs/reference/plugin-protocol.md"

// TestTheEnvironmentInTheDocument compares it with the environment of a running plugin.
func TestTheEnvironmentInTheDocument(t *testing.T) {
	t.Parallel()
	rows, err := hosttest.Table(document, "variable")
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, r := range rows {
		said = append(said, r[0])
	}
	for _, development := range []bool{true, false} {
		o := testOptions(t)
		o.development = development
		if development {
			equalNames(t, said, environmentOf(t, startRole(t, "good", o)))
			continue
		}
		i := slices.Index(said, protocol.EnvDevelopment)
		equalNames(t, slices.Delete(said, i, i+1), environmentOf(t, startRole(t, "good", o)))
	}
}

func equalNames(t *testing.T, said, is []string) {
	t.Helper()
	slices.Sort(said)
	slices.Sort(is)
	if !slices.Equal(said, is) {
		t.Errorf("the document says\n%q\na plugin has\n%q", said, is)
	}
}

// environmentOf are the names of the variables that a process has.
func environmentOf(t *testing.T, p *Process) (is []string) {
	t.Helper()
	environ, err := os.ReadFile("/proc/" + p.PID() + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	for v := range bytes.SplitSeq(bytes.TrimSuffix(environ, []byte{0}), []byte{0}) {
		name, _, _ := bytes.Cut(v, []byte("="))
		is = append(is, string(name))
	}
	return is
}

// TestTheLimitsInTheDocument compares them with the limits of this package.
func TestTheLimitsInTheDocument(t *testing.T) {
	t.Parallel()
	rows, err := hosttest.Table(document, "what")
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]string)
	for _, r := range rows {
		said[r[0]] = r[1]
	}
	kib := func(n int) string { return fmt.Sprintf("%d KiB", n>>10) }
	for what, limit := range map[string]string{
		"tools":                strconv.Itoa(maxTools),
		"namespaces":           strconv.Itoa(maxNamespaces),
		"a tool's description": kib(maxDescription),
		"a tool's label":       fmt.Sprintf("%d bytes", maxLabel),
		"examples of a tool":   strconv.Itoa(maxExamples),
		"a JSON Schema":        kib(manifest.MaxSchemaBytes),
		"patterns of hooks":    strconv.Itoa(maxHookTools),
		"a pattern":            fmt.Sprintf("%d bytes", maxPattern),
		"plugin.json":          fmt.Sprintf("%d MiB", manifest.MaxBytes>>20),
		"a line of the log":    kib(childprocess.MaxLine),
		"lines of the log":     fmt.Sprintf("%d at once, then %d a second", logBurst, logPerSecond),
	} {
		if said[what] != limit {
			t.Errorf("%s: the document says %q, the code %q", what, said[what], limit)
		}
	}
}

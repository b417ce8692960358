//go:build linux

package plugins

import "testing"

// BenchmarkCallTool is one call of a tool that returns its input, over the
// socket with mutual TLS.
func BenchmarkCallTool(b *testing.B) {
	p := startRole(b, "good", testOptions(b))
	req := call("echo", textIn{Text: "hi"})
	for b.Loop() {
		if _, err := p.CallTool(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart is a start and a stop of a plugin.
func BenchmarkStart(b *testing.B) {
	f, o := install(b, shortDir(b), "fix", "good"), testOptions(b)
	for b.Loop() {
		p, err := Start(b.Context(), f, o)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

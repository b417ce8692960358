package host_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)```go\n(package main.*?)```")

// TestReadme builds every whole program of the README as it stands, and runs the
// embedding, which has 20 lines at the most and needs no second file.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := goBlock.FindAllSubmatch(readme, -1)
	if len(programs) != 2 {
		t.Fatalf("%d programs in the README, want a plugin and an embedding", len(programs))
	}
	buildProgram(t, programs[0][1])
	embedding := programs[1][1]
	if lines := strings.Count(string(embedding), "\n"); lines > 20 {
		t.Errorf("the embedding has %d lines, want 20 at the most", lines)
	}
	if got := runProgram(t, embedding); got != "completed 4 \n" {
		t.Errorf("it prints %q", got)
	}
}

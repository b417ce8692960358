package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)```go\n(package main.*?)```")

// TestReadmeCompiles builds every whole program of the README.
func TestReadmeCompiles(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllSubmatch(readme, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d programs in the README, want a plugin and an embedding", len(blocks))
	}
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for i, b := range blocks {
		src := filepath.Join(dir, fmt.Sprintf("readme%d.go", i))
		if err := os.WriteFile(src, b[1], 0o600); err != nil {
			t.Fatal(err)
		}
		at, err := filepath.Abs(fmt.Sprintf("readme%d/main.go", i))
		if err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][at] = src
	}
	doc, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range blocks {
		out, err := osexec.Command("go", "build", "-overlay", file, "-o", os.DevNull, fmt.Sprintf("./readme%d", i)).CombinedOutput()
		if err != nil {
			t.Errorf("program %d of the README: %v\n%s", i+1, err, out)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// overflow takes frames until the stack is full, and one that no stack can have.
const overflow = `package main

type Tsize_t uint64

func main() {
	for range 2 {
		refused(func() {
			for {
				if p := alloca(1 << 10); p+1<<10 > uintptr(unsafe.Pointer(&stack))+stackSize {
					panic("a frame lies behind the stack")
				}
			}
		})
		dropFrames()
	}
	refused(func() { alloca(1 << 62) })
	if p := alloca(16); *(*byte)(unsafe.Add(nil, p)) != 0 || frame(16) != p+16 || frame(2048) != p+16+leastFrame || alloca(0) != p+16+leastFrame+2048 {
		panic("the stack is not as it was")
	}
}

func refused(f func()) {
	defer func() { println(recover().(string)) }()
	f()
}
`

// TestFramesAreBounded: what takes more than the stack has is stopped before it writes.
func TestFramesAreBounded(t *testing.T) {
	dir := t.TempDir()
	main := strings.Replace(overflow, "package main\n", "package main\n\nimport \"unsafe\"\n", 1)
	for name, text := range map[string]string{
		"go.mod":    "module overflow\n\ngo 1.26\n",
		"main.go":   main,
		"frames.go": string(bytes.Replace(frames, []byte("package libquickjs"), []byte("package main"), 1)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if want := strings.Repeat("quickjs: the stack of the engine is full\n", 3); err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

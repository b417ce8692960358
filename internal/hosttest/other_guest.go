package hosttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// OtherGuest builds the worker that Guest builds, of other code: its
// functions are at other addresses, its heap is laid out in another way before a program
// starts, and a program can tell that the globals text and json come in another order.
// What one of the two has suspended, the other can only replay.
func OtherGuest() (string, error) {
	e, err := chosenEngine()
	if err != nil {
		return "", err
	}
	return program(e.worker+"-other", func(path string) error {
		overlay, err := otherCode(path + "-sources")
		if err != nil {
			return fmt.Errorf("other code of the guest worker: %w", err)
		}
		return goTool(e.build(path), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	})
}

// otherCode writes the files of the guest that are other ones to a directory, and returns
// what go build -overlay takes.
func otherCode(dir string) (overlay string, err error) {
	prelude, err := preludeDir()
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, change := range []struct{ file, from, to string }{
		{"prelude.js", "const prelude={};", `const prelude={ballast:Array.from({length:2000},(_,i)=>({["ballast"+i]:[i,"b"+i]}))};`},
		{"prelude.js", `addFunction2("text",text),addFunction2("json",json)`, `addFunction2("json",json),addFunction2("text",text)`},
		{"prelude.go", "func Reserved() []string {", "func Reserved() []string {\n\tif len(os.Args) > 1<<20 {\n\t\tpanic(fmt.Sprint(os.Args, os.Environ()))\n\t}"},
		{"prelude.go", `"fmt"`, "\"fmt\"\n\t\"os\""},
	} {
		name, from := filepath.Join(dir, change.file), filepath.Join(prelude, change.file)
		if changed := replace[from]; changed != "" {
			from = changed
		}
		b, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(b), change.from); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, expected once", change.file, change.from, n)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(b), change.from, change.to, 1)), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(prelude, change.file)] = name
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o600)
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// program leaves out what a worker does, too: see library_c_linux.c of package sandbox.
const program = `
#include <stdio.h>
#include <string.h>
void *__libc_dlopen_mode(const char *name, int mode) { return NULL; }
void *__libc_dlsym(void *handle, const char *name) { return NULL; }
int __libc_dlclose(void *handle) { return 0; }
void entry(char *to, const char *from) { char copy[64]; strcpy(copy, from); strcpy(to, copy); }
int main(int n, char **words) { char to[64]; entry(to, words[0]); puts(to); return 0; }
`

// TestHardeningIsChecked builds one program with the options that a worker gets, and
// with one of them taken back.
func TestHardeningIsChecked(t *testing.T) {
	if runtime.GOOS != "linux" || unmarked[runtime.GOARCH] == "" {
		t.Skip("the native engine is for linux on amd64 and arm64")
	}
	cc, err := compiler()
	if err != nil {
		t.Skip(err)
	}
	const fixed, static = "-fno-pie -no-pie", " -static"
	for name, c := range map[string]struct {
		options, source, want string
	}{
		"as it should be":    {fixed + static, "", ""},
		"dynamic":            {fixed, "", "is linked dynamically"},
		"at no fixed place":  {"-fPIE -static-pie", "", "is position independent"},
		"executable stack":   {fixed + static + " -Wl,-z,execstack", "", "has an executable stack"},
		"writable addresses": {fixed + static + " -Wl,-z,norelro", "", "has addresses of functions in writable memory"},
		"unmarked functions": {fixed + static + " " + unmarked[runtime.GOARCH], "", "without a mark"},
		"programs started":   {fixed + static, `FILE *start(const char *s) { return popen(s, "r"); }`, "contains popen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(out+".c", []byte(program+c.source), 0o600); err != nil {
				t.Fatal(err)
			}
			options := append(hardening(), "-O2", "-Wl,"+linkHardening, "-o", out, out+".c")
			if said, err := exec.Command(cc, append(options, strings.Fields(c.options)...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			err := checkHardening(out, "entry")
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want one that %s", err, c.want)
			}
		})
	}
}

// unmarked is the option that leaves out the marks of functions.
var unmarked = map[string]string{"amd64": "-fcf-protection=none", "arm64": "-mbranch-protection=none"}

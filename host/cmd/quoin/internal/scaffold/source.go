package scaffold

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Module is the module that plugins in Go import.
const Module = "github.com/quoinhq/quoin"

// Source says where plugins get [Module] from. Exactly one field is set.
type Source struct {
	// Dir is a checkout of the module.
	Dir string
	// Version is a released version.
	Version string
}

// FindSource finds where the running command has come from: the directory that
// is given, or its release, or the checkout it was built in. near is a directory
// that may be inside a checkout, too.
func FindSource(given, near string) (Source, error) {
	if given != "" {
		dir, err := filepath.Abs(given)
		if err != nil {
			return Source{}, err
		}
		if !isCheckout(dir) {
			return Source{}, fmt.Errorf("%s is not a checkout of %s: its go.mod is not there or names another module", dir, Module)
		}
		return Source{Dir: dir}, nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := released(info); v != "" {
			return Source{Version: v}, nil
		}
	}
	for _, start := range places(near) {
		if dir := checkoutAbove(start); dir != "" {
			return Source{Dir: dir}, nil
		}
	}
	return Source{}, fmt.Errorf("this quoin is not a release, and the checkout it was built from is not to be found; name one with --quoin DIR")
}

// release is a version that a module proxy can have: no pseudo-version and nothing
// that was changed afterwards.
var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

var pseudo = regexp.MustCompile(`[0-9]{14}-[0-9a-f]{12}$`)

// released is the version of the module the command was built of, or "". A
// build from a checkout has no version, whatever tag the checkout is at.
func released(info *debug.BuildInfo) string {
	m := &info.Main
	if m.Path != Module || !release.MatchString(m.Version) || pseudo.MatchString(m.Version) {
		return ""
	}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "vcs") {
			return ""
		}
	}
	return m.Version
}

// places returns directories that may be inside the checkout, the surest first: this file's,
// unless it was built with -trimpath, the executable's, and near.
func places(near string) []string {
	var list []string
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		list = append(list, filepath.Dir(file))
	}
	if exe, err := os.Executable(); err == nil {
		list = append(list, filepath.Dir(exe))
	}
	if abs, err := filepath.Abs(near); err == nil {
		list = append(list, abs)
	}
	return list
}

// checkoutAbove is the nearest checkout that dir is in, or "".
func checkoutAbove(dir string) string {
	for {
		if isCheckout(dir) {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+` + regexp.QuoteMeta(Module) + `\s*$`)

func isCheckout(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && moduleLine.Match(b)
}

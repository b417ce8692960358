package sdk

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// misuse ends the start of a plugin for a programmer's mistake, by one line that says
// where it was made. Under a host the process exits, as the host shows the last line
// that it printed; everywhere else, such as in tests, it is a panic.
func misuse(err error) {
	text := fmt.Sprintf("sdk: %s%v", callSite(), err)
	if os.Getenv(protocol.CookieKey) == protocol.CookieValue {
		fmt.Fprintln(os.Stderr, text)
		os.Exit(2)
	}
	panic(text)
}

// ownFunctions is the prefix of the names of this package's functions.
const ownFunctions = "github.com/quoinhq/quoin/sdk."

// callSite is where the plugin has called this package, as "main.go:20: "; "" if that
// is not to be found.
func callSite() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if f.File != "" && !strings.HasPrefix(f.Function, ownFunctions) {
			return fmt.Sprintf("%s:%d: ", inModule(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// inModule is the name of a source file, in a build with -trimpath without the path
// of the plugin's module.
func inModule(file string) string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "" {
		file = strings.TrimPrefix(file, info.Main.Path+"/")
	}
	return file
}

package machine

import (
	"cmp"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// Place is where a command runs.
type Place struct {
	Host     settings.Host
	Dir      string // its working directory
	Shell    string // the program that reads the command line
	Terminal bool   // it has a terminal
}

// Environment returns the environment of a command, made from nothing: what this
// process has is not handed on. more are the variables of the call.
func Environment(s *settings.Settings, p Place, more map[string]string) []string {
	env := map[string]string{
		"PATH": strings.Join(s.Path, string(os.PathListSeparator)),
		"HOME": p.Dir, "LANG": "C.UTF-8", "SHELL": p.Shell, "TERM": "dumb",
		"PAGER": "cat", "GIT_PAGER": "cat", // no one turns pages
	}
	if u, err := user.Current(); p.Host == settings.Gateway && err == nil { // programs find what the user has set up
		env["HOME"], env["USER"], env["LOGNAME"] = cmp.Or(u.HomeDir, p.Dir), u.Username, u.Username
	}
	if tz := os.Getenv("TZ"); tz != "" {
		env["TZ"] = tz
	}
	if p.Terminal {
		env["TERM"] = "xterm-256color"
	}
	maps.Copy(env, s.Env)
	maps.Copy(env, more)
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

package mcp

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
)

// expansion is a reference to a variable in the value of another, or of a header.
var expansion = regexp.MustCompile(`\$\{([^}]*)\}`)

// expand replaces ${NAME} by the host's variable of that name, which must be set.
func expand(value string) (string, error) {
	var missing error
	out := expansion.ReplaceAllStringFunc(value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v, ok := os.LookupEnv(name)
		if !ok && missing == nil {
			missing = fmt.Errorf("needs the variable %.80q, which the host's environment does not have", name)
		}
		return v
	})
	return out, missing
}

// environment is what the program of a server gets.
func (s *Server) environment() ([]string, error) {
	env := []string{} // not nil, which would mean the host's own
	pass := s.PassEnv
	if _, given := s.Env["PATH"]; !given && !slices.Contains(pass, "PATH") {
		pass = append([]string{"PATH"}, pass...)
	}
	for _, name := range pass {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		v, err := expand(s.Env[name])
		if err != nil {
			return nil, fmt.Errorf("env.%s %w", name, err) // without a colon: TOKEN: and a word look like a credential
		}
		env = append(env, name+"="+v)
	}
	return env, nil
}

// header is what goes with every request to the server.
func (s *Server) header() (http.Header, error) {
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		v, err := expand(s.Headers[name])
		if err != nil {
			return nil, fmt.Errorf("headers.%s %w", name, err)
		}
		if text := checkHeader(name, v); text != "" {
			return nil, fmt.Errorf("headers.%s %s", name, text)
		}
		h.Set(name, v)
	}
	return h, nil
}

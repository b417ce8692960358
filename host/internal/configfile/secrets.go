package configfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/plugins"
)

// pluginSecrets reads where the secrets of one plugin are.
func (f *File) pluginSecrets(id string) config.Field {
	texts := map[string]string{}
	f.secrets[id] = texts
	return config.Map(id, "secret name", entryOf(texts), "").CheckKey(plugins.CheckSecretName)
}

// checkSecrets makes the sources of the secrets. The table does not check them: it
// would show what it found, which may be a secret that stands in the wrong place.
func (f *File) checkSecrets(path string) error {
	var problems []config.Problem
	for _, id := range slices.Sorted(maps.Keys(f.secrets)) {
		sources := make(map[string]plugins.SecretSource)
		for _, name := range slices.Sorted(maps.Keys(f.secrets[id])) {
			source, err := plugins.ParseSecretSource(f.secrets[id][name])
			if err != nil {
				problems = append(problems, f.secretProblem(path, "plugins.secrets."+id+"."+name, err))
			}
			sources[name] = source
		}
		f.PluginSecrets[id] = sources
	}
	if len(problems) > 0 {
		return &Error{Problems: problems}
	}
	return nil
}

func (f *File) secretProblem(path, field string, err error) config.Problem {
	return f.problemAt(path, field, fmt.Sprintf("must be %v; what it is now is not shown, lest it is the secret", err))
}

// problemAt is a problem of a field, at its place.
func (f *File) problemAt(path, field, message string) config.Problem {
	p := config.Problem{Source: cmp.Or(path, "the environment"), Field: field, Message: message}
	for _, v := range f.Report.Values {
		if v.Field == field {
			p.Source, p.Line, p.Column = cmp.Or(v.Origin.Name, p.Source), v.Origin.Line, v.Origin.Column
		}
	}
	return p
}

// checkWhole reports what the fields one by one do not show.
func (f *File) checkWhole(path string) error {
	var all Error
	for _, err := range []error{f.checkMCP(path), f.checkMCPServer(path), f.checkSecrets(path), f.checkState(path), f.checkCluster(path), f.checkShell(path)} {
		var some *Error
		if errors.As(err, &some) {
			all.Problems = append(all.Problems, some.Problems...)
		}
	}
	if len(all.Problems) > 0 {
		return &all
	}
	return nil
}

// checkState says what the database looks like. A password in the file would be in what
// commands print of it.
func (f *File) checkState(path string) error {
	problem := func(want string) error {
		return &Error{Problems: []config.Problem{f.secretProblem(path, "state.url", errors.New(want))}}
	}
	if f.StateURL == "" {
		return nil
	}
	if _, err := plugins.ParseSecretSource(f.StateURL); err == nil {
		return nil
	}
	u, err := url.Parse(f.StateURL)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return problem(`"postgres://user@host/database", "env:NAME" or "file:/path"`)
	}
	if _, password := u.User.Password(); password || u.Query().Has("password") {
		return problem(`a URL without a password; put the one with it into a file and give "file:/path"`)
	}
	return nil
}

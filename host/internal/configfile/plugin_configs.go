package configfile

import (
	"cmp"
	"strconv"

	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/host/internal/json5"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// CheckPluginConfigs holds the configurations of plugins against the configSchemas of
// those in a plugin directory, without starting any. The error is a *Error with
// all that does not fit, each with its place in the file; or about the directory.
func (f *File) CheckPluginConfigs(pluginDir string) error {
	found, err := plugins.Discover(pluginDir)
	if err != nil {
		return err
	}
	var problems []config.Problem
	for _, p := range found {
		list, err := p.Manifest.CheckConfig(f.PluginConfig[p.ID()])
		if err != nil {
			continue // the schema is wrong: the start of the plugin says so
		}
		for _, m := range list {
			problems = append(problems, f.configProblem(p.ID(), m))
		}
	}
	if problems == nil {
		return nil
	}
	return &Error{Problems: problems}
}

// configProblem finds where a mismatch stands. One that stands nowhere, because
// something is missing, has the place of what it is missing in.
func (f *File) configProblem(id string, m manifest.ConfigMismatch) config.Problem {
	p := config.Problem{Source: cmp.Or(f.source.path, "the configuration"), Field: m.Field(id), Message: m.Text}
	for _, v := range f.Report.Values {
		if v.Field == "plugins.config."+id {
			p.Source, p.Line, p.Column = cmp.Or(v.Origin.Name, p.Source), v.Origin.Line, v.Origin.Column
		}
	}
	if p.Line == 0 {
		return p
	}
	doc, err := json5.Parse(f.source.text)
	if err != nil {
		return p // it was read before
	}
	at := descend(doc, append([]string{"plugins", "config", id}, m.Path...))
	pos := json5.At(f.source.text, at.Offset)
	p.Line, p.Column = pos.Line, pos.Column
	return p
}

// descend follows a path to the last value that is there.
func descend(v *json5.Value, path []string) *json5.Value {
	for _, name := range path {
		next := child(v, name)
		if next == nil {
			return v
		}
		v = next
	}
	return v
}

// child is a member, of those with one name the last, or an element; nil if it is not
// there.
func child(v *json5.Value, name string) (found *json5.Value) {
	for _, m := range v.Members {
		if m.Name == name {
			found = m.Value
		}
	}
	if i, err := strconv.Atoi(name); found == nil && err == nil && i >= 0 && i < len(v.Items) {
		found = v.Items[i]
	}
	return found
}

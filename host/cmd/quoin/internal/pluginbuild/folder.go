package pluginbuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// SettingsName is the file with what the author's tools have to be told.
const SettingsName = "dev.json5"

// maxSettings bounds that file in bytes.
const maxSettings = 1 << 20

// Folder is the folder that the author of a plugin works in.
type Folder struct {
	// Dir is its absolute path.
	Dir string
	// Manifest is what plugin.json said when the folder was opened.
	Manifest manifest.Manifest
	// Command is the build command of dev.json5; empty without one.
	Command []string
	// Ignore are paths below the folder where changes do not matter, such as what the build
	// command leaves behind.
	Ignore []string
	// Config is the plugin's configuration in development; nil without one.
	Config json.RawMessage
	// Secrets are where the plugin's secrets are in development, by name. Defaults
	// to nil.
	Secrets map[string]plugins.SecretSource
	// Go says that there are Go sources to build.
	Go bool
}

// Open looks at a folder.
func Open(dir string) (*Folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name the folder of the plugin, such as %s", dir, filepath.Dir(dir))
	}
	f := &Folder{Dir: abs}
	if f.Manifest, err = manifest.Read(abs); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the folder of a plugin: it has no %s; quoin plugin new NAME makes one", dir, manifest.Name)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err := f.readSettings(); err != nil {
		return nil, err
	}
	sources, err := filepath.Glob(filepath.Join(escaped(abs), "*.go"))
	f.Go = len(sources) > 0
	return f, err
}

// escaped is a path as a pattern that matches it alone.
func escaped(path string) string {
	if os.PathSeparator == '\\' {
		return path // patterns have no escapes there
	}
	var out []rune
	for _, r := range path {
		switch r {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// ID is the plugin's id.
func (f *Folder) ID() string { return f.Manifest.ID }

// Builds says whether there is anything to build.
func (f *Folder) Builds() bool { return f.Go || len(f.Command) > 0 }

// readSettings reads dev.json5, if it is there.
func (f *Folder) readSettings() error {
	name := filepath.Join(f.Dir, SettingsName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(text) > maxSettings {
		return fmt.Errorf("%s is longer than %d bytes", name, maxSettings)
	}
	texts := map[string]*string{}
	table := config.Table{Fields: []config.Field{
		config.Texts("build", &f.Command, "The command that builds the plugin, run in its folder."),
		config.Texts("ignore", &f.Ignore, "Paths in the folder whose changes do not make a new build."),
		config.Raw("config", &f.Config, "The plugin's configuration in development."),
		config.Map("secrets", "secret name", func(secret string) config.Field {
			return config.Text(secret, own(texts, secret), "Where the secret is: env:NAME or file:/path.")
		}, "The plugin's secrets in development.").CheckKey(plugins.CheckSecretName),
	}}
	report, err := table.Read(config.Input{File: name, Text: text})
	if err != nil {
		return err
	}
	return f.findSecrets(name, texts, report)
}

// own is the variable of a key.
func own(texts map[string]*string, key string) *string {
	if texts[key] == nil {
		texts[key] = new(string)
	}
	return texts[key]
}

// findSecrets makes the sources of the secrets. What stands in place of one is not
// shown: it may be the secret.
func (f *Folder) findSecrets(file string, texts map[string]*string, report *config.Report) error {
	var problems []config.Problem
	for _, v := range report.Values {
		name, ok := strings.CutPrefix(v.Field, "secrets.")
		if !ok || texts[name] == nil {
			continue
		}
		source, err := plugins.ParseSecretSource(*texts[name])
		if err != nil {
			problems = append(problems, config.Problem{Source: file, Line: v.Origin.Line, Column: v.Origin.Column, Field: v.Field,
				Message: fmt.Sprintf("must be %v; what it is now is not shown, lest it is the secret", err)})
			continue
		}
		if f.Secrets == nil {
			f.Secrets = map[string]plugins.SecretSource{}
		}
		f.Secrets[name] = source
	}
	if problems == nil {
		return nil
	}
	return &config.Error{Problems: problems}
}

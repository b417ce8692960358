// Package bundle turns the prelude's TypeScript sources into the scripts that
// the engine evaluates. It serves the generator and the test that the
// committed script is up to date; nothing that ships imports it.
package bundle

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The script is one expression. Its value is the factory that main.ts leaves in
// the object prelude, so that no global ever names it. So is the value of an
// extra.
const (
	banner = `(()=>{"use strict";const prelude={};`
	footer = `return prelude.create})();`
)

// Build bundles the sources in dir that the source entry reaches. Equal sources
// give equal bytes. It reports the first errors of the compiler.
func Build(dir, entry string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints:       []string{filepath.Join(dir, entry)},
		AbsWorkingDir:     dir,
		Bundle:            true,
		Format:            api.FormatESModule,
		Target:            api.ESNext,
		Platform:          api.PlatformNeutral,
		Charset:           api.CharsetASCII,
		LegalComments:     api.LegalCommentsNone,
		MinifyWhitespace:  true,
		MinifySyntax:      true,
		KeepNames:         false,
		TsconfigRaw:       `{"compilerOptions":{"strict":true}}`,
		Banner:            map[string]string{"js": banner},
		Footer:            map[string]string{"js": footer},
		Write:             false,
		LogLevel:          api.LogLevelSilent,
		IgnoreAnnotations: true,
	})
	if len(result.Errors) > 0 {
		return nil, errors.New(describe(result.Errors[0]))
	}
	if len(result.Warnings) > 0 {
		return nil, errors.New(describe(result.Warnings[0]))
	}
	return result.OutputFiles[0].Contents, nil
}

func describe(m api.Message) string {
	if m.Location == nil {
		return m.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.Location.File, m.Location.Line, m.Location.Column+1, m.Text)
}

// Main is the entry of the script that every guest starts with.
const Main = "main.ts"

// Extras returns the names of the extras. Their entries are extra/<name>.ts.
func Extras(dir string) ([]string, error) {
	entries, err := filepath.Glob(filepath.Join(dir, "extra", "*.ts"))
	for i, e := range entries {
		entries[i] = strings.TrimSuffix(filepath.Base(e), ".ts")
	}
	return entries, err
}

// ExtraEntry is the entry of one extra.
func ExtraEntry(name string) string { return filepath.Join("extra", name+".ts") }

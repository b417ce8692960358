// Package bundle turns the prelude's TypeScript sources into the one script
// that the engine evaluates. It serves the generator and the test that the
// committed script is up to date; nothing that ships imports it.
package bundle

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// The script is one expression. Its value is the factory that main.ts leaves in
// the object prelude, so that no global ever names it.
const (
	banner = `(()=>{"use strict";const prelude={};`
	footer = `return prelude.create})();`
)

// Build bundles the sources in dir, whose entry is main.ts. Equal sources give
// equal bytes. It reports the first errors of the compiler.
func Build(dir string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints:       []string{filepath.Join(dir, "main.ts")},
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

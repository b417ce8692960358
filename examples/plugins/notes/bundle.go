// Command notes builds the plugin notes, which is written in JavaScript, into a
// folder:
//
//	go run ./examples/plugins/notes bin/plugins/notes
//
// What a host starts is one file, so that one checksum pins all of the plugin;
// and it starts it with an empty environment, so that the file names its
// interpreter by its whole path. This command therefore bundles the modules into
// notes.mjs, under a first line that names the node of this machine, and puts the
// manifest next to it.
package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

//go:embed plugin.json quoin src
var sources embed.FS

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: notes FOLDER")
		os.Exit(2)
	}
	if err := install(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		os.Exit(1)
	}
}

// install builds the plugin into dir, which is created if need be.
func install(dir string) error {
	node, err := exec.LookPath("node")
	if err != nil {
		return fmt.Errorf("the plugin runs on Node.js, version 20.3 or newer: %w", err)
	}
	if node, err = filepath.Abs(node); err != nil {
		return err
	}
	program, err := bundle("src/main.mjs")
	if err != nil {
		return err
	}
	manifest, err := sources.ReadFile("plugin.json")
	if err != nil {
		return err
	}
	program = append([]byte("#!"+node+"\n"), program...)
	return errors.Join(os.MkdirAll(dir, 0o755),
		replace(filepath.Join(dir, "notes.mjs"), program, 0o755),
		replace(filepath.Join(dir, "plugin.json"), manifest, 0o644))
}

// replace writes a file in one step: a host may be reading the old one.
func replace(name string, content []byte, mode fs.FileMode) error {
	next := name + ".new"
	if err := os.WriteFile(next, content, mode); err != nil {
		return err
	}
	return os.Rename(next, name)
}

// bundle joins a module and those that it imports into one.
func bundle(entry string) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry},
		Bundle:      true,
		Platform:    api.PlatformNode,
		Format:      api.FormatESModule,
		Target:      api.ES2022,
		Plugins:     []api.Plugin{embedded},
	})
	if len(result.Errors) > 0 {
		m := result.Errors[0]
		if m.Location != nil {
			return nil, fmt.Errorf("%s:%d: %s", m.Location.File, m.Location.Line, m.Text)
		}
		return nil, errors.New(m.Text)
	}
	return result.OutputFiles[0].Contents, nil
}

// embedded has esbuild read the modules of this program, so that the command works
// in any folder.
var embedded = api.Plugin{Name: "embedded", Setup: func(b api.PluginBuild) {
	const own = "notes"
	b.OnResolve(api.OnResolveOptions{Filter: `\.mjs$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		name := path.Clean(a.Path)
		if a.Kind != api.ResolveEntryPoint {
			name = path.Join(path.Dir(a.Importer), name)
		}
		return api.OnResolveResult{Path: name, Namespace: own}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: own}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := sources.ReadFile(a.Path)
		contents := string(text)
		return api.OnLoadResult{Contents: &contents}, err
	})
}}

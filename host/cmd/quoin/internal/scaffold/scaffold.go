package scaffold

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/quoinhq/quoin/plugins/protocol"
)

//go:embed all:templates
var templates embed.FS

const suffix = ".tmpl"

// Options say what to make.
type Options struct {
	// ID is the plugin's id.
	ID string
	// Dir is the folder to make, which must not exist yet. Defaults to ID in the
	// working directory. A host wants a plugin's folder to be named by its id.
	Dir string
	// Language is one of Languages. Defaults to "go".
	Language string
	// Module is the path of the plugin's own module, for Go. Defaults to
	// example.com/ and the id.
	Module string
	// Source is where the plugin gets the module of Quoin from.
	Source Source
}

// Made is what has been made.
type Made struct {
	Names
	// Dir is the folder, as it was given.
	Dir string
	// Files are its files, by their paths below Dir with slashes.
	Files []string
	// Notes say what was done about dependencies, and how to change it.
	Notes []string
}

// Languages are those that there are templates of.
func Languages() []string {
	entries, err := templates.ReadDir("templates")
	if err != nil {
		panic("scaffold: the embedded templates cannot be listed: " + err.Error()) // they always can
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// finishers do what templates cannot, by language.
var finishers = map[string]func(ctx context.Context, dir string, o Options) (notes []string, err error){
	"go": finishGo,
}

// Create makes the folder of a new plugin. After an error nothing is left of it.
func Create(ctx context.Context, o Options) (*Made, error) {
	names, err := NamesOf(o.ID)
	if err != nil {
		return nil, err
	}
	if o.Language == "" {
		o.Language = "go"
	}
	if !slices.Contains(Languages(), o.Language) {
		return nil, fmt.Errorf("there is no template for the language %q, expected one of %s", o.Language, strings.Join(Languages(), ", "))
	}
	if o.Dir == "" {
		o.Dir = o.ID
	}
	if o.Module == "" {
		o.Module = "example.com/" + o.ID
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(o.Dir)), 0o755); err != nil {
		return nil, err
	}
	// Making the folder is what finds out that it is there already.
	if err := os.Mkdir(o.Dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists already and is left as it is: choose another name, or another folder with --dir", o.Dir)
	} else if err != nil {
		return nil, err
	}
	m := &Made{Names: names, Dir: o.Dir}
	if err := m.fill(ctx, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(o.Dir))
	}
	return m, nil
}

// data is what templates know.
type data struct {
	Names
	Module   string
	Protocol int
}

func (m *Made) fill(ctx context.Context, o Options) error {
	root := path.Join("templates", o.Language)
	known := data{m.Names, o.Module, protocol.Version}
	err := fs.WalkDir(templates, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return m.render(strings.TrimSuffix(strings.TrimPrefix(name, root+"/"), suffix), name, known)
	})
	if err != nil {
		return err
	}
	if m.Notes, err = finishers[o.Language](ctx, o.Dir, o); err != nil {
		return err
	}
	m.Files, err = list(o.Dir)
	return err
}

// render writes one file. Values go into sources between [[ and ]], which neither
// Go nor TypeScript nor Markdown have much use for.
func (m *Made) render(to, from string, known data) error {
	text, err := templates.ReadFile(from)
	if err != nil {
		return err
	}
	t, err := template.New(to).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, known); err != nil {
		return err
	}
	at := filepath.Join(m.Dir, filepath.FromSlash(to))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, b.Bytes(), 0o644)
}

// list returns the files below dir.
func list(dir string) ([]string, error) {
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

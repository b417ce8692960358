package hostile

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed testdata/*.js
var files embed.FS

// Program is one program of the corpus.
type Program struct {
	// Class is what the program does to the host, Name how. Together they are
	// unique.
	Class, Name string
	// Language is "javascript" or "typescript".
	Language, Source string
	// MemoryLimit is the guest heap it is to be run with, in bytes.
	MemoryLimit int64
	// Endings are the ways in which it may end, one at least.
	Endings []Ending
}

// Ending is one way in which a program may end.
type Ending struct {
	// Code is a code of the result contract, "completed" or "waiting".
	Code string
	// Value is the JSON it returns when Code is "completed"; empty means any.
	Value string
}

// DefaultMemory is the heap of programs that do not ask for another.
const DefaultMemory = 32 << 20

// Programs returns the corpus, by class and in the order of its files.
func Programs() ([]Program, error) {
	names, err := fs.Glob(files, "testdata/*.js")
	if err != nil {
		return nil, err
	}
	var all []Program
	seen := map[string]bool{}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		class := strings.TrimSuffix(path.Base(name), ".js")
		for i, part := range strings.Split("\n"+string(text), "\n//// ") {
			if i == 0 {
				continue // what the file says of itself
			}
			p, err := parse(class, part)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if seen[p.String()] {
				return nil, fmt.Errorf("%s: two programs have this name", p)
			}
			seen[p.String()] = true
			all = append(all, p)
		}
	}
	return all, nil
}

func (p Program) String() string { return p.Class + "/" + p.Name }

// MayEnd reports whether the program may end with one of the codes.
func (p Program) MayEnd(codes ...string) bool {
	return slices.ContainsFunc(p.Endings, func(e Ending) bool { return slices.Contains(codes, e.Code) })
}

// Accepts reports whether the program may end so. The value, JSON, counts only
// for programs that completed.
func (p Program) Accepts(code, value string) bool {
	return slices.ContainsFunc(p.Endings, func(e Ending) bool {
		return e.Code == code && (code != completed || e.Value == "" || equal(e.Value, value))
	})
}

// equal compares two JSON texts by what they mean.
func equal(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

const completed = "completed"

// parse reads one program; its name comes first.
func parse(class, part string) (Program, error) {
	name, body, _ := strings.Cut(part, "\n")
	p := Program{Class: class, Name: strings.TrimSpace(name), Language: "javascript", MemoryLimit: DefaultMemory}
	var source strings.Builder
	expand := false
	for line := range strings.Lines(body) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "//=>":
			for ending := range strings.SplitSeq(rest, " | ") {
				code, value, _ := strings.Cut(strings.TrimSpace(ending), " ")
				p.Endings = append(p.Endings, Ending{code, value})
			}
		case "//memory":
			n, err := strconv.Atoi(strings.TrimSuffix(rest, " MiB"))
			if err != nil {
				return p, fmt.Errorf("%s: memory %q, want a number of MiB", p.Name, rest)
			}
			p.MemoryLimit = int64(n) << 20
		case "//typescript":
			p.Language = "typescript"
		case "//expand":
			expand = true
		default:
			source.WriteString(line)
		}
	}
	p.Source = strings.TrimSpace(source.String())
	if len(p.Endings) == 0 || p.Source == "" {
		return p, fmt.Errorf("%s: it has no ending or no source", p.Name)
	}
	if expand {
		return p, p.expand()
	}
	return p, nil
}

// expand puts the repetitions into the source.
func (p *Program) expand() error {
	t, err := template.New(p.Name).Funcs(template.FuncMap{"repeat": func(n int, s string) string { return strings.Repeat(s, n) }}).Parse(p.Source)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return err
	}
	p.Source = b.String()
	return nil
}

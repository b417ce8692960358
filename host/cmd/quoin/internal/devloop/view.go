package devloop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host"
)

// View is what a model sees of a plugin: texts by what they are of, such as
// "tool weather_greet" and "namespaces/Weather.d.ts".
type View map[string]string

// Look asks a host what a model of the session sees of a plugin.
func Look(ctx context.Context, h Host, s host.Session, id string) (View, error) {
	v := View{}
	entries, err := h.Tools(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.ID, "quoin:"+id+":") {
			continue
		}
		d, err := h.Tool(ctx, s, e.ID)
		if err != nil {
			return nil, err
		}
		v["tool "+e.Name] = paragraphs(d.Label, d.Description) +
			schema("input", d.Parameters) + schema("output", d.Output)
	}
	list, err := h.Namespaces(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		if n.PluginID != id {
			continue
		}
		v["namespace "+n.GlobalName] = paragraphs(n.Description, n.Prompt)
		file := "namespaces/" + n.GlobalName + ".d.ts"
		if v[file], err = read(ctx, h, s, file); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// paragraphs are the texts that are not empty, each with an end of line.
func paragraphs(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			b.WriteString(t + "\n")
		}
	}
	return b.String()
}

// schema is a schema in many lines, so that a difference shows where it is.
func schema(what string, s json.RawMessage) string {
	if len(s) == 0 {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, s, "", "  "); err != nil {
		return what + ": " + string(s) + "\n"
	}
	return what + ": " + b.String() + "\n"
}

// read reads a virtual file as a cell does.
func read(ctx context.Context, h Host, s host.Session, file string) (string, error) {
	r, err := h.Exec(ctx, s, host.ExecInput{Code: fmt.Sprintf("return (await API.read(%q)).content", file)})
	if err != nil {
		return "", err
	}
	var text string
	if r.Status != host.StatusCompleted {
		return "// it cannot be read: " + r.Error + "\n", nil
	}
	if err := json.Unmarshal(r.Value, &text); err != nil {
		return "", err
	}
	return text, nil
}

// Change is what has become of one text of a view.
type Change struct {
	// What names the text.
	What string
	// Kind is '+' for a new text, '-' for one that is gone, '~' for another.
	Kind byte
	// Lines show it: all of a new text; of a changed one what differs, each line
	// with '+', '-' or ' ' before it.
	Lines []string
}

// Changes compares two views, in order of name, additions last.
func (v View) Changes(to View) []Change {
	var list []Change
	for _, what := range slices.Sorted(maps.Keys(v)) {
		if text, ok := to[what]; !ok {
			list = append(list, Change{What: what, Kind: '-'})
		} else if text != v[what] {
			list = append(list, Change{what, '~', lineDiff(v[what], text)})
		}
	}
	for _, what := range slices.Sorted(maps.Keys(to)) {
		if _, ok := v[what]; !ok {
			list = append(list, Change{what, '+', split(to[what])})
		}
	}
	return list
}

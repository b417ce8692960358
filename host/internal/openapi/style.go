package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// parameter is how one value of the input is sent.
type parameter struct {
	key            string // of the input
	name, in       string
	style          string
	explode        bool
	reserved, json bool // characters with a meaning stay; the value is sent as JSON
}

// field is a member of an object.
type field struct {
	name  string
	value any
}

// decode reads a value of the input. Numbers stay as they were written.
func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// fieldsOf returns the members of an object by name.
func fieldsOf(raw json.RawMessage) ([]field, error) {
	v, err := decode(raw)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, errors.New("body must be an object, because it is sent as a form")
	}
	return sorted(m), nil
}

func sorted(m map[string]any) []field {
	out := make([]field, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, field{name, m[name]})
	}
	return out
}

// plain returns a value as text: a string as it is, everything else as JSON.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	out, err := jsontext.Marshal(v)
	if err != nil {
		return "" // cannot happen: it was decoded from JSON
	}
	return string(out)
}

// query returns the pairs of a parameter for the query of an address, escaped.
func (p *parameter) query(v any) []string {
	name := escapeQuery(p.name)
	pair := func(value string) []string { return []string{name + "=" + value} }
	if v == nil {
		return nil
	}
	if p.json {
		return pair(p.escape(mustJSON(v)))
	}
	switch v := v.(type) {
	case []any:
		return p.queryList(v, name)
	case map[string]any:
		if p.style == "deepObject" {
			return deep(name, v)
		}
		if p.explode {
			var out []string
			for _, f := range sorted(v) {
				out = append(out, escapeQuery(f.name)+"="+p.escape(plain(f.value)))
			}
			return out
		}
		return pair(p.flat(v, p.separator()))
	}
	return pair(p.escape(plain(v)))
}

// queryList returns the pairs of a list.
func (p *parameter) queryList(v []any, name string) []string {
	if p.style == "deepObject" {
		return deep(name, v)
	}
	if p.explode {
		out := make([]string, len(v))
		for i, item := range v {
			out[i] = name + "=" + p.escape(plain(item))
		}
		return out
	}
	items := make([]string, len(v))
	for i, item := range v {
		items[i] = p.escape(plain(item))
	}
	return []string{name + "=" + strings.Join(items, p.separator())}
}

// separator stands between the items of a list that is one value.
func (p *parameter) separator() string {
	switch p.style {
	case "spaceDelimited":
		return "%20"
	case "pipeDelimited":
		return "%7C"
	}
	return ","
}

// flat writes an object as a list of names and values.
func (p *parameter) flat(m map[string]any, separator string) string {
	var items []string
	for _, f := range sorted(m) {
		items = append(items, escapeQuery(f.name), p.escape(plain(f.value)))
	}
	return strings.Join(items, separator)
}

// deep writes a value with the way to each part in brackets.
func deep(name string, v any) []string {
	var out []string
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, f := range sorted(v) {
			out = append(out, deep(name+"["+escapeQuery(f.name)+"]", f.value)...)
		}
	case []any:
		for i, item := range v {
			out = append(out, deep(name+"["+strconv.Itoa(i)+"]", item)...)
		}
	default:
		out = append(out, name+"="+escapeQuery(plain(v)))
	}
	return out
}

func mustJSON(v any) string {
	if s, ok := v.(string); ok {
		return string(quote(s))
	}
	return plain(v)
}

// escapeQuery escapes everything that could mean something in a query.
func escapeQuery(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// keptReserved undoes the escapes of characters that a parameter may let stand. Those that
// would end a value are not among them.
var keptReserved = strings.NewReplacer("%3A", ":", "%2F", "/", "%3F", "?", "%5B", "[", "%5D", "]", "%40", "@", "%21", "!", "%24", "$",
	"%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2C", ",", "%3B", ";")

// escape escapes a value of the query.
func (p *parameter) escape(s string) string {
	s = escapeQuery(s)
	if p.reserved {
		s = keptReserved.Replace(s)
	}
	return s
}

// path returns a parameter as part of a path, escaped. It is never empty.
func (p *parameter) path(v any) (string, error) {
	pair := func(prefix, separator, assign string) string {
		items := []string{}
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				items = append(items, url.PathEscape(plain(item)))
			}
		case map[string]any:
			for _, f := range sorted(v) {
				name, value := url.PathEscape(f.name), url.PathEscape(plain(f.value))
				if p.explode {
					items = append(items, name+assign+value)
				} else {
					items = append(items, name, value)
				}
			}
		default:
			items = append(items, url.PathEscape(plain(v)))
		}
		if len(items) == 0 {
			return ""
		}
		return prefix + strings.Join(items, separator)
	}
	if p.json {
		return url.PathEscape(mustJSON(v)), nil
	}
	_, isMap := v.(map[string]any)
	name := url.PathEscape(p.name)
	out := ""
	switch {
	case v == nil:
	case p.style == "label" && p.explode:
		out = pair(".", ".", "=")
	case p.style == "label":
		out = pair(".", ",", "=")
	case p.style == "matrix" && p.explode && isMap:
		out = pair(";", ";", "=")
	case p.style == "matrix" && p.explode:
		out = pair(";"+name+"=", ";"+name+"=", "=")
	case p.style == "matrix":
		out = pair(";"+name+"=", ",", "=")
	default:
		out = pair("", ",", "=")
	}
	if out == "" {
		return "", fmt.Errorf("%s must not be empty, because it is part of the path", p.key)
	}
	return out, nil
}

// header returns a parameter as the value of a header.
func (p *parameter) header(v any) (string, error) {
	out := ""
	switch v := v.(type) {
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = plain(item)
		}
		out = strings.Join(items, ",")
	case map[string]any:
		var items []string
		for _, f := range sorted(v) {
			if p.explode {
				items = append(items, f.name+"="+plain(f.value))
			} else {
				items = append(items, f.name, plain(f.value))
			}
		}
		out = strings.Join(items, ",")
	default:
		out = plain(v)
	}
	if p.json {
		out = mustJSON(v)
	}
	if strings.ContainsFunc(out, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "", fmt.Errorf("%s must be one line, because it is sent as a header", p.key)
	}
	return out, nil
}

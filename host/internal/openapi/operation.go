package openapi

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// operation fills in an operation, or says why it cannot be offered.
func (r *reader) operation(o *Operation, item, op *jsonschema.Node) (reason string) {
	if o.servers = serversOf(op); o.servers == nil {
		o.servers = serversOf(item)
	}
	o.Path, _, _ = strings.Cut(o.Path, "#") // a fragment, which is never sent, tells operations apart
	if reason := checkPath(o.Path); reason != "" {
		return reason
	}
	o.Title = text.Shorten(strings.TrimSpace(cmp.Or(op.Get("summary").Str(), item.Get("summary").Str())), maxTitle)
	about := strings.TrimSpace(cmp.Or(op.Get("description").Str(), op.Get("summary").Str(), item.Get("description").Str(), item.Get("summary").Str()))
	o.Description = strings.TrimSpace(text.Shorten(about, maxDescription) + "\n\n" + o.Method + " " + o.Path)
	if isTrue(op.Get("deprecated")) {
		o.Description += " (deprecated)"
	}
	o.Safe = o.Method == http.MethodGet || o.Method == http.MethodHead
	o.Idempotent = o.Safe || o.Method == http.MethodPut || o.Method == http.MethodDelete
	in := newInputSchema(r.schemas)
	if reason := r.parameters(o, in, item, op); reason != "" {
		return reason
	}
	if reason := r.requestBody(o, in, op.Get("requestBody")); reason != "" {
		return reason
	}
	o.Input = in.schema()
	r.responses(o, op.Get("responses"))
	return ""
}

var pathParameter = regexp.MustCompile(`\{([^{}]*)\}`)

// checkPath says why a path cannot be requested. It must not lead out of itself.
func checkPath(path string) string {
	plain := pathParameter.ReplaceAllString(path, "x")
	switch {
	case !strings.HasPrefix(path, "/") || len(path) > 2048:
		return "its path must start with / and have at most 2048 bytes"
	case strings.ContainsAny(plain, "?#{}\\%") || !text.IsPrintable(path):
		return "its path has a character that cannot stand there"
	case slices.ContainsFunc(strings.Split(plain, "/"), isDots):
		return "its path has a segment . or .."
	}
	return ""
}

func isDots(segment string) bool { return segment == "." || segment == ".." }

// ownHeaders are not parameters: the protocol, the client or the specification sets them.
var ownHeaders = words(`accept accept-encoding authorization connection content-length content-type cookie expect forwarded host
	keep-alive origin proxy-authorization proxy-connection referer te trailer transfer-encoding upgrade user-agent via`)

// headerName is what the name of a header looks like.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// parameters reads the parameters of the operation, and the parameters of the path that the
// operation does not have itself.
func (r *reader) parameters(o *Operation, in *inputSchema, item, op *jsonschema.Node) (reason string) {
	type place struct{ name, in string }
	seen := map[place]bool{}
	var all []*jsonschema.Node
	own, reason := parametersOf(op)
	shared, wrong := parametersOf(item)
	if reason = cmp.Or(reason, wrong); reason != "" {
		return reason
	}
	for _, p := range slices.Concat(own, shared) {
		if p.Is(jsonschema.Null) {
			continue
		}
		p, reason := r.follow(p)
		at := place{word(p.Get("name")), placeOf(p)}
		switch {
		case reason != "":
			return reason // it may have to be given
		case at.name == "":
			return "a parameter of it has no name"
		case seen[at]:
			continue
		}
		seen[at] = true
		all = append(all, p)
	}
	if len(all) > maxParameters {
		return fmt.Sprintf("it has more than %d parameters", maxParameters)
	}
	where := []string{"path", "query", "header", "cookie"}
	slices.SortStableFunc(all, func(a, b *jsonschema.Node) int {
		return cmp.Compare(slices.Index(where, placeOf(a)), slices.Index(where, placeOf(b)))
	})
	for _, p := range all {
		must := placeOf(p) == "path" || mayBeTrue(p.Get("required"))
		known, reason := parameterOf(p)
		if reason != "" {
			reason = "its parameter " + strconv.Quote(text.Shorten(word(p.Get("name")), 64)) + " " + reason
			if must || !slices.Contains(where, known.in) { // which may be the body
				return reason
			}
			if known.in != "cookie" {
				o.Description += " (" + reason + ")"
			}
			continue
		}
		if known.in == "" {
			continue
		}
		if reason := nowhere(o, known); reason != "" {
			if !o.Safe || inOtherNotation(o.Path, known.name) {
				return reason
			}
			o.Description += " (" + reason + ", and is not sent)"
			continue
		}
		known.key = in.add(known.name, known.in, r.parameterSchema(p), about(p.Get("description").Str(), known.sent()), must)
		o.parameters = append(o.parameters, known)
	}
	return missingParameter(o)
}

// placeOf is where a parameter is sent.
func placeOf(p *jsonschema.Node) string { return strings.ToLower(strings.TrimSpace(p.Get("in").Str())) }

// nowhere says that a parameter of the path has no part of the path. What changes something
// could then change more than was meant.
func nowhere(o *Operation, p parameter) string {
	if p.in != "path" || strings.Contains(o.Path, "{"+p.name+"}") {
		return ""
	}
	return "its path has no {" + text.Shorten(p.name, 64) + "}, which is a parameter of the path"
}

// inOtherNotation reports whether a path has a parameter in another notation than {name}.
func inOtherNotation(path, name string) bool {
	return slices.ContainsFunc([]string{":", "<", "[", "*"}, func(mark string) bool { return strings.Contains(path, mark+name) })
}

// missingParameter says which part of a path has no parameter.
func missingParameter(o *Operation) string {
	for _, m := range pathParameter.FindAllStringSubmatch(o.Path, -1) {
		if !slices.ContainsFunc(o.parameters, func(p parameter) bool { return p.in == "path" && p.name == m[1] }) {
			return "its path has {" + text.Shorten(m[1], 64) + "}, which is no parameter"
		}
	}
	return ""
}

// parameterOf returns how a parameter is sent, why it cannot be, or nothing for one that is
// not a program's to set.
func parameterOf(p *jsonschema.Node) (out parameter, reason string) {
	out = parameter{name: word(p.Get("name")), in: placeOf(p), style: p.Get("style").Str(), reserved: isTrue(p.Get("allowReserved"))}
	styles := map[string][]string{
		"path":   {"simple", "label", "matrix"},
		"query":  {"form", "spaceDelimited", "pipeDelimited", "deepObject"},
		"header": {"simple"},
		"cookie": {"form"},
	}[out.in]
	switch {
	case styles == nil:
		return out, "stands in a place that is not known"
	case out.in == "cookie":
		return out, "is a cookie, and cookies are not sent"
	case out.in == "header" && ownHeaders[strings.ToLower(out.name)]:
		return parameter{}, ""
	case out.in == "header" && !headerName.MatchString(out.name):
		return out, "is not the name of a header"
	}
	if out.style == "" {
		out.style = styles[0]
	}
	if !slices.Contains(styles, out.style) {
		return out, "has a style that is not known"
	}
	out.explode = out.style == "form" || out.style == "deepObject"
	if explode, known := truth(p.Get("explode")); known && out.style != "deepObject" {
		out.explode = explode
	}
	out.json = len(p.Get("content").Fields()) > 0
	return out, ""
}

// parameterSchema writes the schema of a parameter, which may stand below a media type.
func (r *reader) parameterSchema(p *jsonschema.Node) *fragment {
	n := p.Get("schema")
	if content := p.Get("content").Fields(); n == nil && len(content) > 0 {
		mediaType, _ := r.follow(content[0].Value)
		n = mediaType.Get("schema")
	}
	return r.schemas.fragment(n, input)
}

// sent says how a parameter is sent, if not in the ordinary way: a pin is to hold it.
func (p parameter) sent() string {
	var how []string
	if p.in == "header" {
		how = append(how, p.in)
	}
	if p.style != "form" && p.style != "simple" {
		how = append(how, p.style)
	}
	if p.explode != (p.style == "form" || p.style == "deepObject") {
		how = append(how, fmt.Sprint("explode ", p.explode))
	}
	if p.reserved {
		how = append(how, "reserved characters stay")
	}
	return strings.Join(how, ", ")
}

// about is the description of a member of the input, and of how it is sent.
func about(description, sent string) string {
	description = text.Shorten(strings.TrimSpace(description), maxAbout)
	if sent != "" {
		return strings.TrimSpace(description + " (" + sent + ")")
	}
	return description
}

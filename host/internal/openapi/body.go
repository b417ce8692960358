package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"mime/multipart"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
)

// base64Schema is the schema of a value that is not text.
const base64Schema = `{"type":"string","contentEncoding":"base64"}`

// requestBody reads the body of an operation. It takes the media type that programs write
// most easily.
func (r *reader) requestBody(o *Operation, in *inputSchema, rb *jsonschema.Node) (reason string) {
	rb, reason = r.follow(rb)
	must := mayBeTrue(rb.Get("required"))
	switch {
	case reason != "":
		return reason
	case o.Safe && must: // a server may not look at it, and what is between may drop it
		return "it must have a body, and " + o.Method + " is sent without one"
	case !given(rb) || o.Safe:
		return ""
	case !rb.Is(jsonschema.Object) || given(rb.Get("content")) && !rb.Get("content").Is(jsonschema.Object):
		return "its body is not an object with content by media type"
	}
	var best *jsonschema.Node
	b := &body{kind: bodyBytes + 1}
	for _, m := range rb.Get("content").Fields() {
		mediaType, _, err := mime.ParseMediaType(m.Key)
		if err != nil {
			continue
		}
		if mediaType == "*/*" || mediaType == "application/*" {
			mediaType = anyKind(r.references, m.Value)
		} else if strings.Contains(mediaType, "*") {
			mediaType = "application/octet-stream"
		}
		if kind := kindOf(mediaType); kind < b.kind {
			best, b.kind, b.mediaType = m.Value, kind, mediaType
		}
	}
	if b.mediaType == "" {
		if must || len(rb.Get("content").Fields()) > 0 {
			return "its body has no media type"
		}
		return ""
	}
	if best, reason = r.follow(best); reason != "" {
		return reason
	}
	if _, reason := r.follow(best.Get("schema")); reason != "" && b.kind < bodyText {
		return reason
	}
	in.use = map[bool]use{true: upload}[b.kind == bodyMultipart]
	f := r.schemas.fragment(best.Get("schema"), in.use)
	b.fields(r.references, best)
	switch b.kind {
	case bodyText:
		f = &fragment{text: []byte(`{"type":"string"}`)}
	case bodyBytes:
		f = &fragment{text: []byte(base64Schema)}
	}
	o.body = b
	in.put("body", f, about(rb.Get("description").Str(), ""), must)
	return ""
}

// fields reads how the fields of a form are written.
func (b *body) fields(r *references, mt *jsonschema.Node) {
	b.styles, b.files, b.types = map[string]parameter{}, map[string]bool{}, map[string]string{}
	for _, e := range mt.Get("encoding").Fields() {
		b.types[e.Key] = partType(e.Value)
		style := e.Value.Get("style").Str()
		if !slices.Contains([]string{"form", "spaceDelimited", "pipeDelimited", "deepObject"}, style) {
			continue
		}
		p := parameter{name: e.Key, in: "query", style: style, explode: style == "form" || style == "deepObject"}
		if explode, known := truth(e.Value.Get("explode")); known && style != "deepObject" {
			p.explode = explode
		}
		b.styles[e.Key] = p
	}
	if b.kind == bodyMultipart {
		b.readFiles(r, mt.Get("schema"), 0)
	}
}

// encode writes a body.
func (b *body) encode(raw json.RawMessage) (content []byte, mediaType string, err error) {
	switch b.kind {
	case bodyJSON:
		return raw, b.mediaType, nil
	case bodyForm:
		fields, err := fieldsOf(raw)
		if err != nil {
			return nil, "", err
		}
		var pairs []string
		for _, f := range fields {
			p, given := b.styles[f.name]
			if !given {
				p = parameter{name: f.name, in: "query", style: "form", explode: true}
			}
			pairs = append(pairs, p.query(f.value)...)
		}
		return []byte(strings.Join(pairs, "&")), b.mediaType, nil
	case bodyMultipart:
		return b.multipart(raw)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, "", fmt.Errorf("body must be a string, because it is sent as %s", b.mediaType)
	}
	if b.kind == bodyText {
		return []byte(s), b.mediaType + "; charset=utf-8", nil
	}
	content, err = decodeBase64(s)
	if err != nil {
		return nil, "", fmt.Errorf("body must be base64, because it is sent as %s", b.mediaType)
	}
	return content, b.mediaType, nil
}

// multipart writes a body with one part for each field, or for each item of a field that
// is a list.
func (b *body) multipart(raw json.RawMessage) (content []byte, mediaType string, err error) {
	fields, err := fieldsOf(raw)
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, f := range fields {
		items, isList := f.value.([]any)
		if !isList {
			items = []any{f.value}
		}
		for _, item := range items {
			if err := b.part(w, f.name, item); err != nil {
				return nil, "", err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), w.FormDataContentType(), nil
}

// responses reads what an operation answers when it succeeds.
func (r *reader) responses(o *Operation, rs *jsonschema.Node) {
	o.accept = "*/*"
	var outputs [][]byte
	all := &fragment{}
	var types []string
	unknown := false // an answer may be one that cannot be read
	for _, response := range rs.Fields() {
		if !strings.HasPrefix(response.Key, "2") {
			continue
		}
		response, reason := r.follow(response.Value)
		unknown = unknown || reason != ""
		for _, m := range response.Get("content").Fields() {
			mediaType, _, err := mime.ParseMediaType(m.Key)
			if err != nil || !isJSON(mediaType) {
				continue
			}
			if !slices.Contains(types, mediaType) && len(types) < 8 {
				types = append(types, mediaType)
			}
			m, reason := r.follow(m.Value)
			unknown = unknown || reason != ""
			if n := m.Get("schema"); n != nil && len(outputs) < 8 {
				f := r.schemas.fragment(n, output)
				if !slices.ContainsFunc(outputs, func(o []byte) bool { return bytes.Equal(o, f.text) }) {
					outputs, all.refs = append(outputs, f.text), append(all.refs, f.refs...)
				}
				break // other media types of this answer hold the same
			}
		}
	}
	if len(types) > 0 {
		o.accept = strings.Join(types, ", ")
	}
	switch {
	case unknown || len(outputs) == 0:
		return
	case len(outputs) == 1:
		all.text = outputs[0]
	default:
		all.text = append(append([]byte(`{"anyOf":[`), bytes.Join(outputs, []byte(","))...), "]}"...)
	}
	if string(all.text) == "true" || string(all.text) == "false" || len(all.text) > maxOutputSchema {
		return
	}
	o.Output = r.schemas.whole(all, output, maxOutputSchema)
}

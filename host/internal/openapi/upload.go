package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"path"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// A field of a multipart body that is a file is its content as base64, or that with a name.
// Services look at the name's extension, so it has to be the program's choice.
const (
	fileAlone = `{"type":"string","contentEncoding":"base64"}`
	fileNamed = `{"type":"object","properties":{"filename":{"type":"string"},"content":` + fileAlone + `},"required":["filename","content"],"additionalProperties":false}`
)

// isFile reports whether a field of a multipart body with this schema is a file.
func isFile(n *jsonschema.Node) bool {
	kind := n.Get("contentMediaType").Str()
	switch n.Get("format").Str() {
	case "binary", "base64":
		return true
	}
	return n.Get("type").Str() == "file" || n.Get("contentEncoding").Str() == "base64" || kind != "" && kindOf(kind) == bodyBytes
}

// file writes the schema of a field that is a file.
func (w *schemaWriter) file(n *jsonschema.Node) {
	w.out.WriteByte('{')
	if about := text.Shorten(strings.TrimSpace(n.Get("description").Str()), maxAbout); about != "" {
		w.out.WriteString(`"description":`)
		w.out.Write(quote(about))
		w.out.WriteByte(',')
	}
	w.out.WriteString(`"anyOf":[` + fileAlone + "," + fileNamed)
	if isTrue(n.Get("nullable")) || strings.Contains(strings.Join(n.Get("type").Words(), " "), "null") {
		w.out.WriteString(`,{"type":"null"}`)
	}
	w.out.WriteString("]}")
}

// readFiles reads which fields of a form are files.
func (b *body) readFiles(r *references, n *jsonschema.Node, depth int) {
	if n, _ = r.follow(n); n == nil || depth > 4 {
		return
	}
	for _, p := range n.Get("properties").Fields() {
		if _, known := b.files[p.Key]; !known && hasFile(r, p.Value, 0) {
			b.files[p.Key] = true
			own, _ := r.follow(p.Value)
			b.types[p.Key] = cmp.Or(b.types[p.Key], mediaTypeOf(own.Get("contentMediaType")))
		}
	}
	for _, item := range alternatives(n) {
		b.readFiles(r, item, depth+1)
	}
}

// alternatives are the schemas that a schema combines, up to a few.
func alternatives(n *jsonschema.Node) []*jsonschema.Node {
	all := slices.Concat(n.Get("allOf").List(), n.Get("anyOf").List(), n.Get("oneOf").List())
	return all[:min(8, len(all))]
}

// hasFile reports whether a field is a file, or a list of them, or may be either.
func hasFile(r *references, n *jsonschema.Node, depth int) bool {
	n, _ = r.follow(n)
	if n == nil || depth > 4 {
		return false
	}
	return isFile(n) || hasFile(r, n.Get("items"), depth+1) ||
		slices.ContainsFunc(alternatives(n), func(a *jsonschema.Node) bool { return hasFile(r, a, depth+1) })
}

// part writes one part of a multipart body.
func (b *body) part(w *multipart.Writer, name string, value any) error {
	if value == nil {
		return nil
	}
	content, kind, filename := []byte(plain(value)), b.types[name], ""
	if b.files[name] {
		var encoded string
		var err error
		if filename, encoded, err = fileOf(value); err == nil {
			content, err = decodeBase64(encoded)
		}
		if err != nil {
			return fmt.Errorf(`body.%s must be a file: its content as base64, or {"filename": "a.txt", "content": "…base64…"}`, name)
		}
		kind = cmp.Or(kind, typeOf(filename))
		if _, alone := value.(string); alone {
			filename += extensionOf(kind)
		}
	}
	switch value.(type) {
	case map[string]any, []any:
		kind = cmp.Or(kind, "application/json")
	}
	disposition := multipart.FileContentDisposition(name, filename)
	if filename == "" {
		disposition = strings.TrimSuffix(disposition, `; filename=""`)
	}
	h := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if kind != "" {
		h.Set("Content-Type", kind)
	}
	part, err := w.CreatePart(h)
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	return err
}

// fileOf returns the name of a file and its content as base64.
func fileOf(value any) (filename, encoded string, err error) {
	if alone, ok := value.(string); ok {
		return "file", alone, nil
	}
	named, _ := value.(map[string]any)
	filename, _ = named["filename"].(string)
	encoded, ok := named["content"].(string)
	if !ok || filename == "" || !text.IsPrintable(filename) {
		return "", "", errors.New("it is no file")
	}
	return filename, encoded, nil
}

// extensions are media types by extension. The tables of machines differ from each other.
var extensions = strings.Fields(`gz application/gzip tgz application/gzip json application/json jsonl application/jsonl pdf application/pdf
	doc application/msword docx application/vnd.openxmlformats-officedocument.wordprocessingml.document
	xls application/vnd.ms-excel xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
	pptx application/vnd.openxmlformats-officedocument.presentationml.presentation xml application/xml yaml application/yaml
	yml application/yaml zip application/zip aac audio/aac flac audio/flac m4a audio/mp4 mp3 audio/mpeg mpga audio/mpeg ogg audio/ogg
	opus audio/ogg wav audio/wav avif image/avif gif image/gif heic image/heic jpg image/jpeg jpeg image/jpeg png image/png
	svg image/svg+xml tif image/tiff tiff image/tiff webp image/webp css text/css csv text/csv htm text/html html text/html
	js text/javascript mjs text/javascript md text/markdown txt text/plain log text/plain mov video/quicktime mp4 video/mp4
	mpeg video/mpeg webm video/webm`)

// typeOf returns the media type of a file by its extension.
func typeOf(filename string) string {
	at := slices.Index(extensions, strings.TrimPrefix(strings.ToLower(path.Ext(filename)), "."))
	if at < 0 {
		return "application/octet-stream"
	}
	return extensions[at+1]
}

// extensionOf returns the extension of a media type with its dot, "" of one that is not known.
func extensionOf(kind string) string {
	for i := 1; i < len(extensions); i += 2 {
		if extensions[i] == kind {
			return "." + extensions[i-1]
		}
	}
	return ""
}

// partType returns the media type that a document gives to a field, "" if it lets choose.
func partType(encoding *jsonschema.Node) string {
	return mediaTypeOf(encoding.Get("contentType"))
}

// mediaTypeOf returns one media type, "" of a range or a list of them.
func mediaTypeOf(n *jsonschema.Node) string {
	kind := n.Str()
	if _, _, err := mime.ParseMediaType(kind); err != nil || strings.ContainsAny(kind, "*,") || !text.IsPrintable(kind) {
		return ""
	}
	return kind
}

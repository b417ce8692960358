package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
)

// Mask stands in the place of a secret.
const Mask = "[redacted]"

// Bounds of what is kept and of the work of looking for secrets.
const (
	defaultMaxBytes = 4 << 10
	// maxDocument bounds the documents that are looked through, and maxString each
	// string in them, in bytes: looking costs up to a microsecond a byte.
	maxDocument = 1 << 20
	maxString   = 64 << 10
	// maxNested bounds how deep JSON inside strings of JSON is followed. What is
	// deeper is left out.
	maxNested = 4
)

// Redactor says what is hidden and how much is kept. The zero value is ready.
type Redactor struct {
	// Keys are more names of properties that hold secrets, in addition to the
	// built-in ones. Case and separators do not count: "vaultPin" is "vault_pin".
	Keys []string
	// MaxBytes bounds each body that is kept, in bytes. Defaults to 4 KiB. What is
	// longer becomes {"truncated": true, "omittedBytes": n, "prefix": "…"}.
	MaxBytes int
}

// JSON returns doc without its secrets, as compact JSON of at most MaxBytes (but
// never less than a marker of some 60 bytes). The schema, which may be empty, is
// the JSON Schema of doc.
//
// A secret is hidden whole, whatever its type. JSON inside a string is looked
// through as well, because tools often return documents as text.
func (r Redactor) JSON(doc, schema json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return nil
	}
	if len(doc) > maxDocument {
		return marker(len(doc), "")
	}
	v, err := decode(doc)
	if err != nil {
		return quoted(fmt.Sprintf("[not JSON: %d bytes]", len(doc)))
	}
	return r.capped(encode(r.walk(v, rootOf(schema), 0)))
}

// Text returns s without the credentials it can recognise, at most MaxBytes of
// it, whole characters only.
//
// It knows shapes of credentials only. Use JSON for documents, where names tell
// more.
func (r Redactor) Text(s string) string {
	limit := r.limit()
	unseen := len(s) - len(text.Cut(s, maxString))
	s = maskText(strings.ToValidUTF8(s[:len(s)-unseen], "\uFFFD"))
	kept := text.Cut(s, limit)
	if omitted := unseen + len(s) - len(kept); omitted > 0 {
		return fmt.Sprintf("%s [%d bytes omitted]", kept, omitted)
	}
	return s
}

// limit returns MaxBytes or its default.
func (r Redactor) limit() int {
	if r.MaxBytes > 0 {
		return r.MaxBytes
	}
	return defaultMaxBytes
}

// capped replaces a document beyond the limit by a marker with as long a prefix
// as fits.
func (r Redactor) capped(doc json.RawMessage) json.RawMessage {
	limit := r.limit()
	if len(doc) <= limit {
		return doc
	}
	for room := limit; room > 0; room /= 2 {
		kept := text.Cut(string(doc), room)
		if m := marker(len(doc)-len(kept), kept); len(m) <= limit {
			return m
		}
	}
	return marker(len(doc), "")
}

// marker stands for a document that is too long. It is JSON, so that a record
// stays readable by programs.
func marker(omitted int, prefix string) json.RawMessage {
	return encode(struct {
		Truncated bool   `json:"truncated"`
		Omitted   int    `json:"omittedBytes"`
		Prefix    string `json:"prefix,omitempty"`
	}{true, omitted, prefix})
}

// walk returns v without its secrets. nested counts how many strings of JSON v is
// inside of.
//
// It may change v in place.
func (r Redactor) walk(v any, s schemas, nested int) any {
	if v == nil {
		return nil
	}
	if s.secret() {
		return Mask
	}
	switch v := v.(type) {
	case map[string]any:
		return r.object(v, s, nested)
	case []any:
		if len(v) == 2 { // a pair of a name and a value, as lists of headers have it
			if name, ok := v[0].(string); ok && v[1] != nil && r.secretName(name, v[1]) {
				return []any{name, Mask}
			}
		}
		for i, item := range v {
			v[i] = r.walk(item, s.item(i), nested)
		}
		return v
	case string:
		return r.text(v, nested)
	default:
		return v
	}
}

// object hides the values of properties by their names. A boolean is never a
// secret: "secret": true only describes one.
func (r Redactor) object(v map[string]any, s schemas, nested int) any {
	labelled := r.labelled(v)
	for name, value := range v {
		_, flag := value.(bool)
		switch {
		case value == nil:
		case !flag && r.secretName(name, value), labelled && name == "value":
			v[name] = Mask
		default:
			v[name] = r.walk(value, s.property(name), nested)
		}
	}
	return v
}

// labelled reports whether v is of the form {"name": "Authorization", "value": …},
// as lists of headers and variables have it.
func (r Redactor) labelled(v map[string]any) bool {
	for _, label := range []string{"name", "key", "header"} {
		if name, ok := v[label].(string); ok && r.secretName(name, v["value"]) {
			return true
		}
	}
	return false
}

// text redacts a string, as JSON if it is some.
func (r Redactor) text(s string, nested int) string {
	if trimmed := strings.TrimSpace(s); len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') {
		v, err := decode([]byte(trimmed))
		switch {
		case err == nil && nested == maxNested:
			return fmt.Sprintf("[%d bytes of JSON omitted]", len(s))
		case err == nil:
			return string(encode(r.walk(v, schemas{}, nested+1)))
		}
	}
	if kept := text.Cut(s, maxString); len(kept) < len(s) {
		return fmt.Sprintf("%s [%d bytes omitted]", maskText(kept), len(s)-len(kept))
	}
	return maskText(s)
}

// decode reads one JSON document and keeps its numbers as they are written.
func decode(doc []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one document")
	}
	return v, nil
}

// encode is json.Marshal of what cannot fail, without escapes for HTML.
func encode(v any) json.RawMessage {
	b, err := jsontext.Marshal(v)
	if err != nil {
		return quoted("[not encodable]")
	}
	return b
}

// quoted writes a text that needs no escapes as a JSON string.
func quoted(s string) json.RawMessage { return json.RawMessage(`"` + s + `"`) }

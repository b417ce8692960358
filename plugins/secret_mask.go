package plugins

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// masked stands where a secret stood.
const masked = "[secret]"

// minSecretLine is how long a line of a secret of several lines is that is a secret
// of its own.
const minSecretLine = 16

// secretMask keeps the secrets of one plugin in what comes from it: a plugin that is
// careless with a secret, in a result, a message or a log line, must not hand it to
// programs and models. A plugin that wants to give a secret away can disguise it;
// that is not what this is against. Nil is the secretMask of a plugin without
// secrets, and costs nothing.
type secretMask struct {
	forms    [][]byte // what is looked for, the longest first
	replacer *strings.Replacer
}

func newSecretMask(secrets map[string]string) *secretMask {
	if len(secrets) == 0 {
		return nil
	}
	var forms []string
	for _, s := range secrets {
		forms = append(forms, encodings(s)...)
		for line := range strings.Lines(s) { // output comes line by line, a key in a file has many
			if line = strings.TrimSpace(line); len(line) >= minSecretLine {
				forms = append(forms, encodings(line)...)
			}
		}
	}
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	forms = slices.Compact(forms)
	r := &secretMask{}
	var pairs []string
	for _, f := range forms {
		r.forms = append(r.forms, []byte(f))
		pairs = append(pairs, f, masked)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// encodings are the forms in which a secret turns up: itself, and what it becomes in
// JSON, in addresses, in headers and in dumps. Base64 goes without the characters
// at its ends that depend on what stands before and behind, such as the name of a
// user; there are three ways in which what stands before can shift the rest.
func encodings(s string) []string {
	forms := []string{s, url.QueryEscape(s), url.PathEscape(s), hex.EncodeToString([]byte(s))}
	for _, escapeHTML := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapeHTML)
		if e.Encode(s) == nil {
			forms = append(forms, strings.Trim(b.String(), "\"\n"))
		}
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before, shared := range []int{0, 2, 3} {
			text := enc.EncodeToString(append(make([]byte, before), s...))[shared:]
			if len(text) > minSecretBytes {
				forms = append(forms, text[:len(text)-1])
			}
		}
	}
	return forms
}

// found reports whether b has any secret.
func (r *secretMask) found(b []byte) bool {
	return r != nil && slices.ContainsFunc(r.forms, func(f []byte) bool { return bytes.Contains(b, f) })
}

// text returns s without secrets.
func (r *secretMask) text(s string) string {
	if r == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// line returns a line of output without secrets. If the line was cut off, what may be
// the start of a secret at its end goes too.
func (r *secretMask) line(b []byte, cut bool) []byte {
	switch {
	case r == nil:
		return b
	case len(b) > 0 && b[0] == '{' && json.Valid(b):
		return r.value(b)
	case r.found(b):
		b = []byte(r.replacer.Replace(string(b)))
	}
	if cut {
		b = b[:len(b)-r.partialSuffix(b)]
	}
	return b
}

// partialSuffix is how many bytes at the end of b may be the start of a secret.
func (r *secretMask) partialSuffix(b []byte) (longest int) {
	for _, f := range r.forms {
		for n := min(len(f)-1, len(b)); n > longest; n-- {
			if bytes.HasSuffix(b, f[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// escapes reports whether JSON may write characters in a way that no form
// of a secret has: what may be escaped, and how, differs from encoder to encoder.
func escapes(v []byte) bool {
	return bytes.Contains(v, []byte(`\u`)) || bytes.Contains(v, []byte(`\/`))
}

// value returns a JSON value without secrets, in the names of fields as well.
func (r *secretMask) value(v json.RawMessage) json.RawMessage {
	plain := r.found(v)
	if r == nil || !plain && !escapes(v) {
		return v
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) == nil {
		if b, err := json.Marshal(tree); !plain && err == nil && !r.found(b) {
			return v // nothing was hidden
		}
		if b, err := json.Marshal(r.tree(tree)); err == nil {
			return b
		}
	}
	return json.RawMessage(`"` + masked + `"`)
}

func (r *secretMask) tree(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case json.Number:
		if r.found([]byte(v)) {
			return masked
		}
	case []any:
		for i := range v {
			v[i] = r.tree(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, item := range v {
			clean[r.text(key)] = r.tree(item)
		}
		return clean
	}
	return v
}

// error returns e without secrets.
func (r *secretMask) error(e *protocol.Error) *protocol.Error {
	if r == nil {
		return e
	}
	clean := *e
	clean.Message, clean.Code, clean.Details = r.text(e.Message), r.text(e.Code), r.value(e.Details)
	return &clean
}

// verdict returns what a hook says without secrets.
func (r *secretMask) verdict(v protocol.HookVerdict) protocol.HookVerdict {
	if r == nil {
		return v
	}
	v.Params, v.Reason = r.value(v.Params), r.text(v.Reason)
	if v.Approval != nil {
		a := *v.Approval
		a.Title, a.Description, a.Subject = r.text(a.Title), r.text(a.Description), r.text(a.Subject)
		v.Approval = &a
	}
	return v
}

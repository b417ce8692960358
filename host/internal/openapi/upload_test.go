package openapi

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// uploads is an operation with files in each of the ways that documents write them.
const uploads = `"post":{"operationId":"upload","requestBody":{"required":true,"content":{"multipart/form-data":{"schema":{"$ref":"#/components/schemas/U"},
	"encoding":{"cover":{"contentType":"image/png"},"meta":{"contentType":"application/ld+json"},"any":{"contentType":"image/*"}}}}}}`

const uploaded = `,"components":{"schemas":{"U":{"allOf":[{"$ref":"#/components/schemas/V"}],"type":"object","properties":{
	"file":{"type":"string","format":"binary","description":"the audio"},"list":{"type":"array","items":{"$ref":"#/components/schemas/B"}},
	"either":{"anyOf":[{"type":"string","format":"binary"},{"type":"array","items":{"type":"string","format":"binary"}}]},
	"cover":{"$ref":"#/components/schemas/B"},"any":{"$ref":"#/components/schemas/B"},"meta":{"type":"object"},"model":{"type":"string"}}},
	"V":{"properties":{"more":{"type":["string","null"],"contentMediaType":"audio/wav"}}},"B":{"type":"string","format":"binary"}}}`

// TestUploads: a program may name a file, and the extension of the name says what it is.
func TestUploads(t *testing.T) {
	t.Parallel()
	o := parse(t, one("3.1.0", "/a", uploads, uploaded)).Operations[0]
	const file = `"anyOf":[{"type":"string","contentEncoding":"base64"},{"type":"object","properties":{"filename":{"type":"string"},"content":{"type":"string","contentEncoding":"base64"}},"required":["filename","content"],"additionalProperties":false}`
	for _, want := range []string{`"file":{"description":"the audio",` + file + `]}`, `"more":{` + file + `,{"type":"null"}]}`, `"B":{` + file + `]}`, `"model":{"type":"string"}`} {
		if !strings.Contains(string(o.Input), want) {
			t.Errorf("%s does not have %s", o.Input, want)
		}
	}
	for _, c := range []struct{ body, want string }{
		{`{"file":{"filename":"a b.MP3","content":"YQ=="}}`, "Content-Disposition: form-data; name=\"file\"; filename=\"a b.MP3\"\r\nContent-Type: audio/mpeg\r\n\r\na"},
		{`{"file":"YQ=="}`, "Content-Disposition: form-data; name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n\r\na"},
		{`{"file":{"filename":"q\".jsonl","content":"YQ=="}}`, "filename=\"q\\\".jsonl\"\r\nContent-Type: application/jsonl\r\n\r\na"},
		{`{"list":[{"filename":"a.png","content":"YQ=="},"Yg=="]}`, "name=\"list\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\na"},
		{`{"either":[{"filename":"x.pdf","content":"YQ=="}]}`, "name=\"either\"; filename=\"x.pdf\"\r\nContent-Type: application/pdf\r\n\r\na"},
		{`{"more":{"filename":"x.wav","content":"YQ=="}}`, "name=\"more\"; filename=\"x.wav\"\r\nContent-Type: audio/wav\r\n\r\na"},
		{`{"more":"YQ=="}`, "name=\"more\"; filename=\"file.wav\"\r\nContent-Type: audio/wav\r\n\r\na"},
		{`{"cover":"YQ=="}`, "name=\"cover\"; filename=\"file.png\"\r\nContent-Type: image/png\r\n\r\na"},
		{`{"cover":{"filename":"x.jpg","content":"YQ=="}}`, "filename=\"x.jpg\"\r\nContent-Type: image/png\r\n\r\na"},
		{`{"any":{"filename":"x.jpg","content":"YQ=="}}`, "filename=\"x.jpg\"\r\nContent-Type: image/jpeg\r\n\r\na"},
		{`{"any":{"filename":"noextension","content":""}}`, "filename=\"noextension\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n"},
		{`{"meta":{"filename":"x","content":"y"}}`, "name=\"meta\"\r\nContent-Type: application/ld+json\r\n\r\n{\"content\":\"y\",\"filename\":\"x\"}"},
		{`{"model":"whisper"}`, "Content-Disposition: form-data; name=\"model\"\r\n\r\nwhisper"},
		{`{"file":"no base64"}`, ""},
		{`{"file":{"filename":"x\r\ny","content":""}}`, ""},
		{`{"file":{"filename":"","content":""}}`, ""},
		{`{"file":{"content":""}}`, ""},
		{`{"file":{"filename":"x"}}`, ""},
		{`{"file":7}`, ""},
	} {
		r, err := server(t, "http://127.0.0.1").request(t.Context(), &o, json.RawMessage(`{"body":`+c.body+`}`))
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), `body.file must be a file: its content as base64, or {"filename"`) {
				t.Errorf("%s: %v", c.body, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		sent, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(sent), c.want) {
			t.Errorf("%s: %q, %v; want %q", c.body, sent, err, c.want)
		}
	}
}

package jsontext

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without the escapes that only HTML needs, which make
// text longer and harder to read.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

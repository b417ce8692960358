package output

import (
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/terminal"

	"bytes"
	"encoding/json"
	"io"
)

// PrintJSON writes a value as JSON: on one line, or indented and escaped on a terminal.
func PrintJSON(w io.Writer, v any) error {
	b, err := jsontext.Marshal(v)
	if err != nil {
		return err
	}
	if IsTerminal(w) {
		_, err = io.WriteString(w, jsonLines(b))
	} else {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// jsonLines returns JSON that is indented and safe for a terminal.
func jsonLines(doc json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return terminal.Text(string(doc)) + "\n"
	}
	return string(terminal.JSON(b.Bytes())) + "\n"
}

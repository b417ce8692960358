//go:build linux

package plugins

import (
	"bytes"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/childprocess"
)

func FuzzOutput(f *testing.F) {
	f.Add([]byte("1|1|unix|/tmp/x|grpc|abc\n"))
	f.Add([]byte(`{"@message":"m","@level":"warn","n":[1,{"a":null}]}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var kept int
		each := func(line []byte, _ bool) {
			kept += len(line)
			if len(line) > childprocess.MaxLine || bytes.ContainsRune(line, '\n') {
				t.Errorf("a line of %d bytes", len(line))
			}
			parseRecord(line)
			printed, handshake := findHandshake(string(line))
			if printed+handshake != string(line) {
				t.Errorf("%q became %q and %q", line, printed, handshake)
			}
			if handshake != "" && !strings.HasPrefix(handshake, "1|") {
				t.Errorf("the handshake %q", handshake)
			}
		}
		if err := childprocess.ReadLines(bytes.NewReader(data), each); err != nil || kept > len(data) {
			t.Errorf("%d of %d bytes, %v", kept, len(data), err)
		}
	})
}

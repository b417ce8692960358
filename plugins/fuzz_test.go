//go:build linux

package plugins

import (
	"bytes"
	"testing"

	"github.com/quoinhq/quoin/internal/childprocess"
)

func FuzzOutput(f *testing.F) {
	f.Add([]byte(`{"@message":"m","@level":"warn","n":[1,{"a":null}]}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var kept int
		each := func(line []byte, _ bool) {
			kept += len(line)
			if len(line) > childprocess.MaxLine || bytes.ContainsRune(line, '\n') {
				t.Errorf("a line of %d bytes", len(line))
			}
			parseRecord(line)
		}
		if err := childprocess.ReadLines(bytes.NewReader(data), each); err != nil || kept > len(data) {
			t.Errorf("%d of %d bytes, %v", kept, len(data), err)
		}
	})
}

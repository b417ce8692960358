package child

import (
	"strings"
	"testing"
)

func FuzzHandshake(f *testing.F) {
	f.Add("1|1|unix|/tmp/x|grpc|abc")
	f.Add("Loading...1|2|unix|/tmp/x|grpc|abc|true")
	f.Fuzz(func(t *testing.T, line string) {
		printed, handshake := findHandshake(line)
		if printed+handshake != line {
			t.Errorf("%q became %q and %q", line, printed, handshake)
		}
		h, ok := ParseHandshake(handshake)
		if handshake != "" && (!ok || h.Core != "1" || h.Transport != "grpc" || !strings.Contains(handshake, h.Address)) {
			t.Errorf("the handshake %q has the fields %+v", handshake, h)
		}
	})
}

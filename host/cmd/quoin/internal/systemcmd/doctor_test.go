package systemcmd

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// TestADiagnosisNamesWhatIsMissing judges a worker without a system call filter.
func TestADiagnosisNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	layers := sandbox.Unsealed("")
	for i, l := range layers {
		layers[i].State = wire.LayerOn
		if l.Name == sandbox.LayerSeccomp {
			layers[i].State, layers[i].Detail = wire.LayerFailed, "seccomp: not permitted"
		}
	}
	d := judge(&guestrt.Inspection{GuestPath: "/guest", Layers: layers})
	if d.Required.Holds || len(d.Required.Missing) != 1 || d.Required.Missing[0] != sandbox.LayerSeccomp || d.Tier != "D" {
		t.Errorf("%+v", d)
	}
	var b strings.Builder
	printDiagnosis(&b, d)
	for _, part := range []string{"failed", "seccomp: not permitted", sandbox.Remedy(sandbox.LayerSeccomp), `"required" does not hold: seccomp`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is missing in:\n%s", part, b.String())
		}
	}
}

package runs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
)

// TestAPeerGetsTheApprovalsThatFit: a reply has as many of the first approvals as its bound
// allows.
func TestAPeerGetsTheApprovalsThatFit(t *testing.T) {
	t.Parallel()
	large := codemode.PendingApproval{ID: "apr_1", Input: json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)}
	one, err := json.Marshal(large)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]codemode.PendingApproval, 200)
	for i := range all {
		all[i] = large
	}
	if got, want := len(approvalsForPeer(all)), cluster.MaxApprovals/(len(one)+1); got != want {
		t.Errorf("%d of %d approvals are sent, want %d", got, len(all), want)
	}
	if got := len(approvalsForPeer(all[:100])); got != 100 {
		t.Errorf("%d of 100 approvals that fit are sent", got)
	}
}

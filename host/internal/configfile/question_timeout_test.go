package configfile_test

import (
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/policy"
)

// TestQuestionTimeout: people have ten minutes, or what the file says, clamped to a day.
func TestQuestionTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{}`:                              policy.DefaultApprovalTimeout,
		`{ questionTimeoutMs: 60000 }`:    time.Minute,
		`{ questionTimeoutMs: 86400001 }`: 24 * time.Hour,
		`{ questionTimeoutMs: 1 }`:        time.Second,
	} {
		f, err := loadText(t, text)
		if err != nil || f.Config().Approvals.QuestionTimeout != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

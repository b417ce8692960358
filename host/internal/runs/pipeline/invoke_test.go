package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// TestWhatAFailedCallHasChanged tests what a program is told of that.
func TestWhatAFailedCallHasChanged(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	lost := &protocol.Error{Kind: protocol.KindPlugin, Code: "plugin_gone", Message: "it is gone"}
	for name, tt := range map[string]struct {
		ctx      context.Context
		readOnly bool
		err      error
		status   string
	}{
		"a tool that failed":                 {t.Context(), false, errors.New("no"), ""},
		"a call that was aborted":            {ended, false, context.Canceled, fault.EffectUnknown},
		"a read that was aborted":            {ended, true, context.Canceled, ""},
		"a plugin that broke":                {t.Context(), false, lost, fault.EffectUnknown},
		"a plugin that broke during a read":  {t.Context(), true, lost, ""},
		"a tool of a plugin that failed":     {t.Context(), false, &protocol.Error{Kind: protocol.KindTool, Message: "no"}, ""},
		"a plugin that says that it is done": {t.Context(), false, &protocol.Error{Kind: protocol.KindPlugin, Effect: protocol.EffectDone}, fault.EffectDone},
	} {
		e := failureFromTool(tt.ctx, &catalog.Tool{Name: "make", ReadOnly: tt.readOnly}, tt.err)
		if e.EffectStatus != tt.status || e.Unknown != (tt.status == fault.EffectUnknown) {
			t.Errorf("%s: %q, unknown %v; want %q", name, e.EffectStatus, e.Unknown, tt.status)
		}
	}
}

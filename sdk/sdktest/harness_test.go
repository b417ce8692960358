package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

// listener is a test that only listens to what would fail it.
type listener struct {
	testing.TB
	heard []string
}

func (l *listener) Helper()                      {}
func (l *listener) Errorf(f string, args ...any) { l.heard = append(l.heard, fmt.Sprintf(f, args...)) }
func (l *listener) expect(t *testing.T, says string) {
	t.Helper()
	if len(l.heard) != 1 || !strings.Contains(l.heard[0], says) {
		t.Errorf("heard %q, want one failure that says %q", l.heard, says)
	}
	l.heard = nil
}

// color encodes as a string although its schema says number.
type color int

func (c color) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprintf("#%06x", int(c))) }

type paint struct {
	Color color `json:"color"`
}

func TestTheHarnessSeesWhatTheCompilerCannot(t *testing.T) {
	p := sdk.New(sdk.Info{ID: "test", Version: "1"}, nil)
	sdk.AddTool(p, sdk.Tool{Name: "paint", Description: "Paints."},
		func(context.Context, *sdk.Call, struct{}) (paint, error) { return paint{0xff}, nil })
	l := &listener{TB: t}
	h := sdktest.Start(l, p, nil)
	if _, err := h.Call("paint", nil); err != nil {
		t.Fatal(err)
	}
	l.expect(t, "does not fit its output schema")
}

func TestAnErrorOfOnCloseFailsTheTest(t *testing.T) {
	p := sdk.New(sdk.Info{ID: "test", Version: "1"}, nil)
	p.OnClose(func() error { return errors.New("the file is still open") })
	l := &listener{}
	t.Run("inner", func(t *testing.T) {
		l.TB = t
		sdktest.Start(l, p, nil)
	})
	l.expect(t, "the file is still open")
}

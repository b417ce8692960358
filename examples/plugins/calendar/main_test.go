package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/examples/plugins/calendar/agenda"
	"github.com/quoinhq/quoin/examples/plugins/internal/plugintest"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

// object is an argument as a guest writes it.
type object = map[string]any

// TestUndo: an event that was booked is taken off again, unless it has changed since.
func TestUndo(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), nil)
	draft := map[string]any{"title": "Review", "start": "2026-03-02T14:00", "durationMinutes": 30, "recurrence": "FREQ=DAILY"}
	made := h.CallInverse("calendar_create", draft)
	if err := h.Revert(made); err != nil {
		t.Fatal(err)
	}
	made = h.CallInverse("calendar_create", draft)
	one := map[string]any{"scope": "occurrence", "occurrence": "2026-03-03T14:00"}
	if _, err := h.Call("calendar_remove", map[string]any{"id": 2, "options": one}); err != nil {
		t.Fatal(err)
	}
	var conflict *protocol.Error
	if err := h.Revert(made); !errors.As(err, &conflict) || conflict.Code != agenda.CodeConflict {
		t.Errorf("an event that has changed: %v", err)
	}
}

func TestPlugin(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), &sdktest.Options{Config: object{"timeZone": "Europe/Berlin"}})
	plugintest.Check(t, h, "plugin.json")

	e := plugintest.Verb[agenda.Event](t, h, "calendar", "create", object{"title": "Stand-up", "start": "2026-03-02T09:00", "durationMinutes": 15, "recurrence": "FREQ=DAILY;COUNT=3"})
	if e.ID != 1 || e.Start != "2026-03-02T09:00:00+01:00" || e.TimeZone != "Europe/Berlin" {
		t.Errorf("created %+v", e)
	}
	page := plugintest.Verb[agenda.Page](t, h, "calendar", "list", object{"from": "2026-03-01", "to": "2026-03-31"})
	if len(page.Items) != 3 || page.Items[2].Start != "2026-03-04T09:00:00+01:00" {
		t.Fatalf("listed %+v", page)
	}
	plugintest.Verb[agenda.Removed](t, h, "calendar", "remove", 1, object{"scope": "occurrence", "occurrence": page.Items[2].Start})
	if page := plugintest.Verb[agenda.Page](t, h, "calendar", "day", "2026-03-04"); len(page.Items) != 0 {
		t.Errorf("a day that was removed: %+v", page)
	}
	if page := plugintest.Verb[agenda.Page](t, h, "calendar", "day", "2026-03-03", "UTC"); len(page.Items) != 1 || page.Items[0].Start != "2026-03-03T08:00:00Z" {
		t.Errorf("day %+v", page)
	}
	fb := plugintest.Verb[agenda.FreeBusy](t, h, "calendar", "freeBusy", object{"from": "2026-03-02", "to": "2026-03-03"}, object{"workingHours": object{"from": "09:00", "to": "10:00"}, "slotMinutes": 30})
	if len(fb.Busy) != 1 || len(fb.Slots) != 1 || fb.Slots[0].Start != "2026-03-02T09:15:00+01:00" {
		t.Errorf("free and busy %+v", fb)
	}
	plugintest.Verb[agenda.Removed](t, h, "calendar", "remove", 1, object{"scope": "series"})
}

func TestErrorsForTheModel(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), nil)
	plugintest.Verb[agenda.Event](t, h, "calendar", "create", object{"title": "x", "start": "2026-03-02", "recurrence": "FREQ=DAILY"})
	busy := object{"title": "y", "start": "2026-03-02T09:00", "durationMinutes": 5, "onlyIfFree": true}
	for _, c := range []struct {
		code string
		verb string
		args []any
	}{
		{agenda.CodeScopeRequired, "remove", []any{1}},
		{agenda.CodeConflict, "create", []any{busy}},
		{agenda.CodeConflict, "remove", []any{1, object{"version": 9}}},
		{agenda.CodeNotFound, "remove", []any{9}},
		{agenda.CodeInvalidField, "day", []any{"tomorrow"}},
		{agenda.CodeInvalidField, "day", []any{7}},
		{"invalid_input", "freeBusy", []any{}},
	} {
		if e := plugintest.Refused(t, h, "calendar", c.verb, c.args...); e.Code != c.code || e.Message == "" {
			t.Errorf("%s%v: code %q (%s), want %q", c.verb, c.args, e.Code, e.Message, c.code)
		}
	}
}

func TestConfigurationRefused(t *testing.T) {
	for want, conf := range map[string]object{"IANA": {"timeZone": "Berlin"}, "unknown field": {"zone": "UTC"}} {
		if err := sdktest.StartError(t, newPlugin(), &sdktest.Options{Config: conf}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("configuration %v: %v, want a refusal with %q", conf, err, want)
		}
	}
}

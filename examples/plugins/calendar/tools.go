package main

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/examples/plugins/calendar/agenda"
	"github.com/quoinhq/quoin/sdk"
)

// desk is what the tools work on.
type desk struct {
	store *agenda.Store
	zone  *time.Location
}

type removeInput struct {
	ID      int64          `json:"id" min:"1" jsonschema:"number of the event"`
	Options agenda.Removal `json:"options,omitzero" jsonschema:"how much of a recurring event goes"`
}

type freeBusyInput struct {
	Range   agenda.Range           `json:"range" jsonschema:"where to look"`
	Options agenda.FreeBusyOptions `json:"options,omitzero" jsonschema:"working hours and slots"`
}

func (d *desk) addList(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "calendar_list",
		Label:       "List events",
		Description: "Lists what takes place in a range of time, in order, with recurring events expanded into their occurrences. Items carry the id of the event and the start, by which remove names a member of a series.",
		ReadOnly:    true,
		Idempotent:  true,
		Examples: []sdk.Example{
			{Description: "a week in Berlin", Input: agenda.Query{Range: agenda.Range{From: "2026-03-02", To: "2026-03-09", TimeZone: "Europe/Berlin"}}},
			{Description: "the reviews of an afternoon", Input: agenda.Query{Range: agenda.Range{From: "2026-03-02T12:00", To: "2026-03-02T18:00"}, Text: "review"}},
		},
	}, func(ctx context.Context, _ *sdk.Call, in agenda.Query) (agenda.Page, error) {
		return explain(d.store.List(ctx, in))
	})
}

func (d *desk) addCreate(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "calendar_create",
		Label:       "Create an event",
		Description: "Books a single or recurring event and returns it. With onlyIfFree it fails with code conflict when the time is taken.",
		Idempotent:  true,
		Revert: sdk.RevertBy(func(_ agenda.Draft, made agenda.Event) (*sdk.Inverse, error) {
			return &sdk.Inverse{Tool: "calendar_remove", Input: removeInput{ID: made.ID, Options: agenda.Removal{Scope: agenda.ScopeSeries, Version: made.Version}}}, nil
		}),
		Examples: []sdk.Example{
			{Description: "a review, if the time is free", Input: agenda.Draft{Title: "Review of issue 12", Start: "2026-03-02T14:00", DurationMinutes: 30, TimeZone: "Europe/Berlin", OnlyIfFree: true}},
			{Description: "every Monday and Wednesday at nine", Input: agenda.Draft{Title: "Stand-up", Start: "2026-03-02T09:00", DurationMinutes: 15, TimeZone: "Europe/Berlin", Recurrence: "FREQ=WEEKLY;BYDAY=MO,WE"}},
			{Description: "three whole days", Input: agenda.Draft{Title: "Fair", Start: "2026-03-03", End: "2026-03-06"}},
		},
	}, func(ctx context.Context, c *sdk.Call, in agenda.Draft) (agenda.Event, error) {
		return explain(d.store.Create(ctx, c.IdempotencyKey, in))
	})
}

func (d *desk) addRemove(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "calendar_remove",
		Label:       "Remove an event",
		Description: "Takes an event off the calendar. For a recurring event say how much goes: one occurrence or the series; without a scope it fails with code scope_required and removes nothing.",
		Idempotent:  true,
		Examples: []sdk.Example{
			{Description: "a single event", Input: removeInput{ID: 3}},
			{Description: "one member of a series", Input: removeInput{ID: 7, Options: agenda.Removal{Scope: agenda.ScopeOccurrence, Occurrence: "2026-03-04T09:00:00+01:00"}}},
		},
	}, func(ctx context.Context, c *sdk.Call, in removeInput) (agenda.Removed, error) {
		return explain(d.store.Remove(ctx, c.IdempotencyKey, in.ID, in.Options))
	})
}

func (d *desk) addFreeBusy(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "calendar_free_busy",
		Label:       "Find free time",
		Description: "Says which time in a range is taken and which is free, inside working hours if given, and cuts the free time into slots of a length if asked. Overlapping events are joined.",
		ReadOnly:    true,
		Idempotent:  true,
		Examples: []sdk.Example{{Description: "half-hour slots of a week", Input: freeBusyInput{
			Range:   agenda.Range{From: "2026-03-02", To: "2026-03-07", TimeZone: "Europe/Berlin"},
			Options: agenda.FreeBusyOptions{WorkingHours: &agenda.WorkingHours{From: "09:00", To: "17:00"}, SlotMinutes: 30},
		}}},
	}, func(ctx context.Context, _ *sdk.Call, in freeBusyInput) (agenda.FreeBusy, error) {
		return explain(d.store.FreeBusy(ctx, in.Range, in.Options))
	})
}

// explain turns a refusal of the calendar into one the model may read, and says that
// nothing has changed. Other errors pass as they are.
func explain[T any](out T, err error) (T, error) {
	if refusal, ok := errors.AsType[*agenda.Error](err); ok {
		err = &sdk.Error{Code: refusal.Code, Message: refusal.Message, Details: refusal.Details, Effect: sdk.EffectNone}
	}
	return out, err
}

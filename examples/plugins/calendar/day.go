package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/examples/plugins/calendar/agenda"
	"github.com/quoinhq/quoin/sdk"
)

// day maps the arguments of Calendar.day(date, timeZone?) to the input of
// calendar_list: a range from that date to the next. It runs in the plugin, so
// it can do what names of arguments cannot say.
func day(_ context.Context, _ sdk.RunContext, args []json.RawMessage) (any, error) {
	var date, zone string
	for i, into := range []*string{&date, &zone} {
		if i >= len(args) {
			break
		}
		if err := json.Unmarshal(args[i], into); err != nil {
			return nil, sdk.Errorf(agenda.CodeInvalidField, "Calendar.day takes a date such as %q and, optionally, the name of a time zone.", "2026-03-02")
		}
	}
	from, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return nil, sdk.Errorf(agenda.CodeInvalidField, "Calendar.day takes a date such as %q, not %q.", "2026-03-02", date)
	}
	return agenda.Query{Range: agenda.Range{
		From: date, To: from.AddDate(0, 0, 1).Format(time.DateOnly), TimeZone: zone,
	}}, nil
}

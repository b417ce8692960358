// Command calendar is a calendar as a plugin: recurring events, time zones,
// free and busy time, iCalendar files. Beyond what example issues shows, it
// teaches:
//
//   - configuration: the host's section for this plugin sets the time zone, and
//     a bad one refuses the load with a message (configSchema in plugin.json
//     says what may be configured);
//   - mappings: most verbs name their arguments, and Calendar.day asks a
//     function of the plugin to make one argument into a range;
//   - where the difficulty goes: all rules of time live in package agenda, as
//     plain functions with tables and property tests.
package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/quoinhq/quoin/examples/plugins/calendar/agenda"
	"github.com/quoinhq/quoin/sdk"
)

func main() { sdk.Serve(newPlugin()) }

// prompt is what the model reads about the namespace.
const prompt = `Calendar.list({from, to, timeZone?}) -> {items: [{id, occurrence, title, start, end, ...}], nextCursor?, total}; Calendar.day("2026-03-02", timeZone?); Calendar.freeBusy({from, to, timeZone?}, {workingHours: {from: "09:00", to: "17:00"}, slotMinutes?}) -> {busy, free, slots}.
Calendar.create({title, start, end or durationMinutes, timeZone?, recurrence?, onlyIfFree?}), Calendar.update(id, {occurrence?, ...changes}), Calendar.remove(id, {scope?, occurrence?}).
Calendar.importICS(text), Calendar.exportICS({ids?}) -> {ics}.`

// config is the plugin's section of the host's configuration.
type config struct {
	TimeZone string `json:"timeZone"`
}

// newPlugin returns the plugin with everything registered. Its store opens when
// the host configures it.
func newPlugin() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: "calendar", Version: "1.0.0", Description: "A calendar with recurring events over one SQLite file."}, nil)
	d := &desk{}
	p.OnConfigure(func(ctx context.Context, c sdk.Config) error {
		conf := config{TimeZone: "UTC"}
		if err := c.Decode(&conf); err != nil {
			return err
		}
		zone, err := agenda.LoadZone(conf.TimeZone)
		if err != nil {
			return fmt.Errorf("timeZone %w", err)
		}
		d.store, err = agenda.OpenStore(ctx, filepath.Join(c.DataDir, "calendar.db"), zone, nil)
		return err
	})
	p.OnClose(func() error {
		if d.store == nil { // the host never came to configure
			return nil
		}
		return d.store.Close()
	})

	list := d.addList(p)
	p.AddNamespace(sdk.Namespace{
		ID:          "calendar",
		Global:      "Calendar",
		Description: "Calendar: list, book, move and cancel events, recurring ones too; find free time.",
		Prompt:      prompt,
		Scope: sdk.Scope{
			"list":      sdk.Verb(list),
			"day":       sdk.Verb(list).Map(day),
			"create":    sdk.Verb(d.addCreate(p)),
			"update":    sdk.Verb(d.addUpdate(p)).Positional("id", "patch"),
			"remove":    sdk.Verb(d.addRemove(p)).Positional("id", "options"),
			"freeBusy":  sdk.Verb(d.addFreeBusy(p)).Positional("range", "options"),
			"importICS": sdk.Verb(d.addImport(p)).Positional("ics", "options"),
			"exportICS": sdk.Verb(d.addExport(p)),
		},
	})
	return p
}

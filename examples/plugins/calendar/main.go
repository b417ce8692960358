// Command calendar is a calendar as a plugin: recurring events, time zones,
// free and busy time. Beyond what example issues shows, it teaches:
//
//   - configuration: the host's section for this plugin sets the time zone, and
//     a bad one refuses the load with a message (configSchema in plugin.json
//     says what may be configured);
//   - a scope that is made for each run (CreateScope) and holds plain data next to
//     verbs: a program reads Calendar.timeZone without any call;
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
const prompt = `Calendar.list({from, to, timeZone?}) -> {items: [{id, title, start, end, recurring, ...}]}; Calendar.day("2026-03-02", timeZone?); Calendar.freeBusy({from, to, timeZone?}, {workingHours: {from: "09:00", to: "17:00"}, slotMinutes?}) -> {busy, free, slots}.
Calendar.create({title, start, end or durationMinutes, timeZone?, recurrence?, onlyIfFree?}), Calendar.remove(id, {scope?: "occurrence" or "series", occurrence?: start}). Calendar.timeZone is the default zone.`

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
		var err error
		if d.zone, err = agenda.LoadZone(conf.TimeZone); err != nil {
			return fmt.Errorf("timeZone %w", err)
		}
		d.store, err = agenda.OpenStore(ctx, filepath.Join(c.DataDir, "events.db"), d.zone)
		return err
	})
	p.OnClose(func() error {
		if d.store == nil { // the host never called configure
			return nil
		}
		return d.store.Close()
	})

	list, create, remove, freeBusy := d.addList(p), d.addCreate(p), d.addRemove(p), d.addFreeBusy(p)
	p.AddNamespace(sdk.Namespace{
		ID:          "calendar",
		Global:      "Calendar",
		Description: "Calendar: list, book and cancel events, recurring ones too; find free time.",
		Prompt:      prompt,
		Tools:       []*sdk.ToolRef{list, create, remove, freeBusy},
		CreateScope: func(context.Context, sdk.RunContext) (sdk.Scope, error) {
			return sdk.Scope{
				"list":     sdk.Verb(list),
				"day":      sdk.Verb(list).Map(day),
				"create":   sdk.Verb(create),
				"remove":   sdk.Verb(remove).Positional("id", "options"),
				"freeBusy": sdk.Verb(freeBusy).Positional("range", "options"),
				"timeZone": d.zone.String(),
			}, nil
		},
	})
	return p
}

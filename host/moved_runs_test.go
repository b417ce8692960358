package host_test

import (
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
)

// TestRunsThatHaveMovedTakeNoPlaces: runs are suspended at one host and end at another, one
// after the other. The first host does not hear of that, and has places for more all the
// same.
func TestRunsThatHaveMovedTakeNoPlaces(t *testing.T) {
	t.Parallel()
	const places = 2
	shared, path := newSharedRuns(), mkdir(t)
	for name, open := range map[string]func(name string) host.Config{
		"hosts that ask each other": func(name string) host.Config {
			return host.Config{Store: shared.of(name), Cluster: host.ClusterConfig{Listen: "127.0.0.1:0", Secret: clusterSecret}}
		},
		"processes of one directory": func(string) host.Config {
			dir := openState(t, path)
			return host.Config{Store: dir}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := func(name string) *host.Host {
				cfg := open(name)
				cfg.Settings.MaxSuspended, cfg.Quotas.SessionPercent = places, 100
				return start(t, cfg)
			}
			first, second := at("first"), at("second")
			const code = `await yield_control(); await yield_control(); return 1`
			for range 2*places + 1 {
				id := wantWaiting(t, exec(first, code), codemode.ReasonYield)
				wantWaiting(t, second.Wait(t.Context(), me, id), codemode.ReasonYield)
				wantValue(t, second.Wait(t.Context(), me, id), "1")
			}
			if list, err := first.Runs().List(t.Context(), me); len(list) != 0 || err != nil {
				t.Errorf("the first host lists %+v, %v", list, err)
			}
			// A run that is suspended at the other host is listed here, and can come back.
			id := wantWaiting(t, exec(first, code), codemode.ReasonYield)
			wantWaiting(t, second.Wait(t.Context(), me, id), codemode.ReasonYield)
			if list, err := first.Runs().List(t.Context(), me); err != nil || len(list) != 1 || list[0].ID != id {
				t.Errorf("the first host lists %+v, %v: want %s", list, err, id)
			}
			wantValue(t, first.Wait(t.Context(), me, id), "1")
		})
	}
}

package quota

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

var mallory, alice = Owner{"a", "mallory"}, Owner{"b", "alice"}

// TestShares: a session and an agent get their share of the whole, and the message
// names the limit, the setting and the numbers.
func TestShares(t *testing.T) {
	for _, tc := range []struct {
		total  int64
		shares Shares
		gets   int64 // one session
		agent  int64 // two sessions of one agent
		want   string
	}{
		{64, Shares{50, 100}, 32, 64, "this session has 32 things and wants 1 more, but may have 32 of the host's 64 (settings quotas.sessionPercent: 50 and some.setting)"},
		{64, Shares{100, 100}, 64, 64, "of the host's 64 things 64 are taken and 1 more are wanted (setting some.setting)"},
		{64, Shares{}, 64, 64, "of the host's 64 things"},
		{64, Shares{50, 75}, 32, 48, "quotas.sessionPercent"},
		{64, Shares{100, 25}, 16, 16, "this agent has 16 things"},
		{1, Shares{50, 50}, 1, 1, "of the host's 1 things"},
		{3, Shares{50, 100}, 2, 3, "this session has 2 things"},
		{1 << 50, Shares{50, 100}, 1 << 49, 1 << 50, "this session"},
	} {
		t.Run(fmt.Sprint(tc.total, tc.shares), func(t *testing.T) {
			m := NewMeter("things", "things", "some.setting", tc.total, tc.shares)
			if d := m.Take(mallory, tc.gets); d != nil {
				t.Fatal(d)
			}
			d := m.Take(mallory, 1)
			if d == nil || !strings.Contains(d.Error(), tc.want) {
				t.Errorf("got %v, want %q", d, tc.want)
			}
			other := Owner{mallory.Agent, "other"}
			rest := tc.agent - tc.gets
			if rest > 0 {
				if d := m.Take(other, rest); d != nil {
					t.Error(d)
				}
			}
			if d := m.Take(other, 1); d == nil {
				t.Error("an agent has more than its share")
			}
			if tc.agent < tc.total {
				if d := m.Take(alice, 1); d != nil {
					t.Errorf("alice gets nothing: %v", d)
				}
				m.Give(alice, 1)
			}
			m.Give(mallory, tc.gets)
			m.Give(other, rest)
			if m.Used() != 0 || len(m.sessions) != 0 || len(m.agents) != 0 {
				t.Errorf("left: %d %v %v", m.Used(), m.sessions, m.agents)
			}
		})
	}
}

// TestTurns: sessions that wait get units in turns, however many tickets one has.
func TestTurns(t *testing.T) {
	m := NewMeter("workers", "workers", "guest.maxWorkers", 2, Shares{100, 100})
	first, second := m.Queue(mallory), m.Queue(mallory)
	<-first.Ready()
	<-second.Ready()
	var hers []*Ticket
	for range 10 {
		hers = append(hers, m.Queue(mallory))
	}
	her := m.Queue(alice)
	m.Give(mallory, 1)
	<-hers[0].Ready()
	m.Give(mallory, 1)
	<-her.Ready()
	if isReady(hers[1]) {
		t.Error("mallory was served twice before alice")
	}
	if canceled, why := hers[9].Cancel(); !canceled || why == nil {
		t.Errorf("%v, %v", canceled, why)
	}
	if canceled, _ := her.Cancel(); canceled {
		t.Error("a ticket with its unit was canceled")
	}
	for _, h := range hers[1:9] {
		m.Give(mallory, 1)
		<-h.Ready()
	}
	m.Give(mallory, 1)
	m.Give(alice, 1)
	if m.Used() != 0 || len(m.waiting) != 0 || len(m.turns) != 0 {
		t.Errorf("left: %d %v %v", m.Used(), m.waiting, m.turns)
	}
}

// TestAShareDoesNotBlockTheQueue: who waits for a part beyond their own share is passed.
func TestAShareDoesNotBlockTheQueue(t *testing.T) {
	m := NewMeter("workers", "workers", "guest.maxWorkers", 4, Shares{50, 100})
	<-m.Queue(mallory).Ready()
	<-m.Queue(mallory).Ready()
	third := m.Queue(mallory)
	<-m.Queue(alice).Ready()
	if isReady(third) {
		t.Error("mallory has more than her share")
	}
	m.Give(mallory, 1)
	<-third.Ready()
}

func isReady(t *Ticket) bool {
	select {
	case <-t.Ready():
		return true
	default:
		return false
	}
}

// TestMeterUnderLoad: whatever is taken and given back at once, the limits hold and
// nothing is left.
func TestMeterUnderLoad(t *testing.T) {
	m := NewMeter("workers", "workers", "guest.maxWorkers", 5, Shares{60, 100})
	var all sync.WaitGroup
	for i := range 8 {
		o := Owner{"agent", fmt.Sprint(i % 3)}
		all.Go(func() {
			for range 500 {
				ticket := m.Queue(o)
				<-ticket.Ready()
				if used := m.Used(); used > 5 {
					t.Errorf("%d of 5 are taken", used)
				}
				m.Give(o, 1)
				if canceled, _ := m.Queue(o).Cancel(); !canceled {
					m.Give(o, 1)
				}
			}
		})
	}
	all.Wait()
	if m.Used() != 0 || len(m.sessions) != 0 || len(m.waiting) != 0 {
		t.Errorf("left: %d %v", m.Used(), m.sessions)
	}
}

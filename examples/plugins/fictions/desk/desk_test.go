package desk_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/examples/plugins/fictions/desk"
)

func open(t *testing.T, path string) *desk.Desk {
	t.Helper()
	d, err := desk.Open(t.Context(), path, "2026-03-02")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestRiskAudit(t *testing.T) {
	got, err := open(t, filepath.Join(t.TempDir(), "f.db")).RiskAudit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := desk.Audit{AsOf: "2026-03-02", Stories: 7, Risks: []desk.Risk{
		{ID: "F-101", Title: "The Lighthouse Ledger", Status: "proof", Due: "2026-02-20", Level: "high", Reasons: []string{"publication was due 2026-02-20", "overdue invoices: 1"}},
		{ID: "F-107", Title: "Letters to a Ferryman", Status: "published", Due: "2026-01-15", Level: "medium", Reasons: []string{"overdue invoices: 1"}},
		{ID: "F-103", Title: "A Clockmaker's Debt", Status: "draft", Due: "2026-03-10", Level: "medium", Reasons: []string{"due 2026-03-10 with 2400 of 6000 words"}},
		{ID: "F-102", Title: "Salt and Static", Status: "edit", Due: "2026-03-20", Level: "medium", Reasons: []string{"it has no editor"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestPromoteIfReady(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.db")
	d := open(t, path)
	for _, c := range []struct {
		id, status string
		want       desk.Promotion
	}{
		{"F-105", "proof", desk.Promotion{Status: "draft", Blockers: []string{"it is at draft and edit comes next"}}},
		{"F-105", "edit", desk.Promotion{Promoted: true, Status: "edit", Blockers: []string{}}},
		{"F-105", "edit", desk.Promotion{Status: "edit", Blockers: []string{}}},
		{"F-105", "pitch", desk.Promotion{Status: "edit", Blockers: []string{"it is past pitch already, at edit"}}},
		{"F-103", "edit", desk.Promotion{Status: "draft", Blockers: []string{"2400 of 6000 words are written"}}},
		{"F-102", "proof", desk.Promotion{Status: "edit", Blockers: []string{"it has no editor"}}},
		{"F-101", "published", desk.Promotion{Status: "proof", Blockers: []string{"overdue invoices: 1"}}},
		{"F-104", "published", desk.Promotion{Promoted: true, Status: "published", Blockers: []string{}}},
		{"F-106", "draft", desk.Promotion{Promoted: true, Status: "draft", Blockers: []string{}}},
	} {
		c.want.ID = c.id
		got, err := d.PromoteIfReady(t.Context(), c.id, c.status)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s to %s: %v (-want +got):\n%s", c.id, c.status, err, diff)
		}
	}
	// A second start neither fills the file again nor forgets.
	again := open(t, path)
	if got, err := again.PromoteIfReady(t.Context(), "F-104", "published"); err != nil || got.Promoted {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
}

func TestUnpaidOver(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "f.db"))
	for amount, want := range map[float64][]string{1000: {"I-4", "I-1", "I-3"}, 1020: {"I-4", "I-1"}, 1e6: {}} {
		got, err := d.UnpaidOver(t.Context(), amount)
		ids := []string{}
		for _, i := range got.Invoices {
			ids = append(ids, i.ID)
		}
		if diff := cmp.Diff(want, ids); err != nil || diff != "" {
			t.Errorf("over %v: %v (-want +got):\n%s", amount, err, diff)
		}
	}
	all, err := d.UnpaidOver(t.Context(), 0)
	if err != nil || all.Total != 5530.2 || !all.Invoices[1].Overdue || all.Invoices[0].Overdue {
		t.Errorf("all %+v, %v", all, err)
	}
}

func TestRefusals(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "f.db"))
	_, err := d.PromoteIfReady(t.Context(), "F-9", "edit")
	if !errors.Is(err, &desk.Error{Code: desk.CodeNotFound}) || !strings.Contains(err.Error(), "F-101, F-102") {
		t.Errorf("unknown story: %v", err)
	}
	_, err = d.PromoteIfReady(t.Context(), "F-101", "done")
	if !errors.Is(err, &desk.Error{Code: desk.CodeInvalidField}) || !strings.Contains(err.Error(), "proof, published") {
		t.Errorf("unknown status: %v", err)
	}
	if _, err = d.UnpaidOver(t.Context(), -1); !errors.Is(err, &desk.Error{Code: desk.CodeInvalidField}) {
		t.Errorf("negative amount: %v", err)
	}
	if _, err := desk.Open(t.Context(), filepath.Join(t.TempDir(), "f.db"), "Monday"); err == nil {
		t.Error("today Monday accepted")
	}
}

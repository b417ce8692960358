package policy_test

import (
	"crypto/sha256"
	"testing"

	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/postgrestest"
)

// TestApprovalsOnPostgres runs the tests of stores on a database that two hosts share.
func TestApprovalsOnPostgres(t *testing.T) {
	t.Parallel()
	postgrestest.Need(t)
	was := stores
	t.Cleanup(func() { stores = was })
	stores = func(t *testing.T, f func(t *testing.T, one, other policy.Approvals)) {
		one, other := onPostgres(t)
		f(t, one, other)
	}
	for name, test := range map[string]func(*testing.T){
		"StoredApprovalsAreTheSame": TestStoredApprovalsAreTheSame, "Decisions": TestDecisions,
		"CancelledApprovalsCannotBeDecided": TestCancelledApprovalsCannotBeDecided, "OneDecisionWins": TestOneDecisionWins,
		"Grants": TestGrants, "Select": TestSelect, "Sweep": TestSweep, "TooManyPending": TestTooManyPending,
		"WhatIsOverMakesRoom": TestWhatIsOverMakesRoom, "Watch": TestWatch,
		"Answer": TestAnswer, "AnswersCountOnce": TestAnswersCountOnce, "AnswerAuthorization": TestAnswerAuthorization, "AllowEdited": TestAllowEdited,
	} {
		t.Run(name, test)
	}
}

// onPostgres returns the approvals of two hosts on one new database.
func onPostgres(t *testing.T) (one, other *policy.StoredApprovals) {
	t.Helper()
	url, secret := postgrestest.Database(t), sha256.Sum256([]byte("the key"))
	if _, _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	key, err := runstore.NewKey(secret[:])
	if err != nil {
		t.Fatal(err)
	}
	open := func() *policy.StoredApprovals {
		d, err := postgres.Open(t.Context(), url, postgres.Options{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d.Approvals()
	}
	one, other = open(), open()
	one.MaxPending = 20
	return one, other
}

package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPasses: what a failure is tells its kind, not what it says.
func TestPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("read: %w", pgconn.ErrConnClosed), true},
		{errors.New("conn closed"), false},
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: queryCanceled, Message: "conn closed"}, false},
	} {
		if got := passes(c.err); got != c.want {
			t.Errorf("%v passes: %v, want %v", c.err, got, c.want)
		}
	}
}

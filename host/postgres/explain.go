package postgres

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// advice is what an operator can do about a failure, by the code of PostgreSQL.
var advice = map[string]string{
	"28P01":               badLogin,
	"28000":               badLogin,
	"3D000":               "make it with createdb, then run quoin state migrate with the --state or --config that names it",
	insufficientPrivilege: "use the user that has run quoin state migrate, and make it the owner of the database: ALTER DATABASE name OWNER TO user",
	readOnly: "it takes no writes: it is a standby, or default_transaction_read_only is on; name the primary in the URL, " +
		"or several hosts with ?target_session_attrs=read-write",
	diskFull: "make room on the disk of the database",
	"53300":  "raise max_connections of the database, or lower pool_max_conns in the URL",
}

const (
	badLogin = "put the password into the URL that state.url names as env:NAME or file:/path, or into PGPASSWORD or ~/.pgpass; " +
		"pg_hba.conf of the database says who may connect"
	noAnswer = "start the database, or correct the host and port in state.url or --state"
)

// explainedError says what went wrong on one line, and what to do.
type explainedError struct {
	text string
	err  error
}

func (e *explainedError) Error() string { return e.text }
func (e *explainedError) Unwrap() error { return e.err }

// explained adds to a failure of the database what can be done about it.
func explained(err error) error {
	var done *explainedError
	if err == nil || errors.As(err, &done) {
		return err
	}
	var connect *pgconn.ConnectError
	var pg *pgconn.PgError
	text, what := err.Error(), ""
	if errors.As(err, &connect) {
		text, what = "no connection: "+attempts(connect), noAnswer
	}
	if errors.As(err, &pg) {
		what = advice[pg.Code]
	}
	if what == "" && connect == nil {
		return err
	}
	if what != "" {
		text += ": " + what
	}
	return &explainedError{text: text, err: err}
}

// attempts is what each attempt to connect ended with, once. Attempts without TLS follow
// those with it, and their end is the one that counts.
func attempts(err *pgconn.ConnectError) string {
	all := []error{errors.Unwrap(err)}
	if several, ok := all[0].(interface{ Unwrap() []error }); ok {
		all = several.Unwrap()
	}
	var said []string
	for _, one := range all {
		if one == nil || strings.Contains(one.Error(), "server refused TLS connection") {
			continue
		}
		if text := strings.TrimSpace(one.Error()); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return err.Error()
	}
	return strings.Join(said, "; ")
}

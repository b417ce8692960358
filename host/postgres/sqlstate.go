package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Codes of PostgreSQL that this package tells apart.
const (
	undefinedTable       = "42P01"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	readOnly             = "25006"
	cannotConnectNow     = "57P03"
	queryCanceled        = "57014"
	uniqueViolation      = "23505"
	diskFull             = "53100"
	// insufficientPrivilege is of a user who may not do that.
	insufficientPrivilege = "42501"
)

// isCode reports whether a failure has a code of PostgreSQL.
func isCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// connectionCode reports whether a code is about the connection, or about a server that
// ends or does not take connections yet.
func connectionCode(code string) bool {
	return strings.HasPrefix(code, "08") || code == "57P01" || code == "57P02" || code == cannotConnectNow || code == "53300"
}

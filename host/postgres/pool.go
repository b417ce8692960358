package postgres

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5/pgxpool"
)

// applicationName is the name of connections of hosts.
const applicationName = "quoin"

// parse reads a URL. Errors have no password in them.
func parse(url string, t times) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = t.connect
	}
	given := cfg.ConnConfig.RuntimeParams
	for name, value := range map[string]string{
		"application_name":                    applicationName,
		"statement_timeout":                   fmt.Sprint(t.statement.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(t.statement.Milliseconds()),
	} {
		if _, set := given[name]; !set {
			given[name] = value
		}
	}
	if !poolSize.MatchString(url) {
		cfg.MaxConns = DefaultMaxConns
	}
	return cfg, nil
}

// poolSize is the setting of a URL or connection string for the size of the pool.
var poolSize = regexp.MustCompile(`\bpool_max_conns\s*=`)

func newPool(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	p, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return p, nil
}

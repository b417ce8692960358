package gateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
)

// The length of a token in characters.
const (
	minToken = 16
	maxToken = 4096
)

// ReadToken reads a token from a file that only its owner may read. On Unix the file
// must belong to the user of this process or to root, and its mode must not give
// anything to group or others. Space around the token is dropped.
func ReadToken(path string) (string, error) {
	b, err := durable.ReadPrivate(path, maxToken+64)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(strings.TrimPrefix(string(b), "\ufeff"))
	if err := checkTokenForm(token); err != nil {
		return "", fmt.Errorf("token file %s: %w", path, err)
	}
	return token, nil
}

// checkTokenForm checks the form of a token. Its errors never contain the token.
func checkTokenForm(t string) error {
	if len(t) < minToken || len(t) > maxToken {
		return fmt.Errorf("the token has %d characters, expected %d to %d; openssl rand -hex 32 makes one", len(t), minToken, maxToken)
	}
	for i := range len(t) {
		if t[i] <= ' ' || t[i] > '~' {
			return errors.New("the token has a character that is not visible ASCII; openssl rand -hex 32 makes a good one")
		}
	}
	return nil
}

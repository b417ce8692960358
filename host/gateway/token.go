package gateway

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The length of a token in characters.
const (
	minToken = 16
	maxToken = 4096
)

// ReadToken reads a token from a file that only its owner may read: on Unix its
// mode must not give anything to group or others. Space around it is dropped.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	defer f.Close()
	// Check the open file, not the name: the name may lead elsewhere by now.
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	if !st.Mode().IsRegular() {
		return "", fmt.Errorf("token file %s is not a regular file", path)
	}
	if err := checkPrivate(path, st); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+64))
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("token file %s: %w", path, err)
	}
	return token, nil
}

// checkToken checks the form of a token. Its errors never contain the token.
func checkToken(t string) error {
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

package sandbox

import (
	"fmt"

	"github.com/quoinhq/quoin/internal/lockdown"
)

// restrictPaths forbids everything Landlock can forbid on this kernel, without
// exception.
func restrictPaths(t lockdown.Threads) (string, error) {
	abi, err := lockdown.LandlockABI()
	if err != nil {
		return "", &offError{err.Error()}
	}
	if err := lockdown.Restrict(t, lockdown.LandlockRules(abi)); err != nil {
		return "", err
	}
	return fmt.Sprintf(landlockDetail, abi), nil
}

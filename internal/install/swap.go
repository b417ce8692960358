package install

import (
	"errors"
	"os"
)

// swapSlowly exchanges two folders. For a moment there is nothing at b; if a
// cannot be moved there, what was comes back.
func swapSlowly(a, b string) error {
	aside := a + ".old"
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}

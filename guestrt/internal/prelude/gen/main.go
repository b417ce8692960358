// Command gen bundles the guest prelude from its TypeScript sources into
// prelude.js and extra/*.js. Run it with go generate from the prelude's folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/guestrt/internal/prelude/gen/bundle"
)

func main() {
	if err := generate("src"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(src string) error {
	if err := write(src, bundle.Main, "prelude.js"); err != nil {
		return err
	}
	extras, err := bundle.Extras(src)
	if err != nil {
		return err
	}
	for _, name := range extras {
		if err := write(src, bundle.ExtraEntry(name), filepath.Join("extra", name+".js")); err != nil {
			return err
		}
	}
	return nil
}

func write(src, entry, to string) error {
	text, err := bundle.Build(src, entry)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

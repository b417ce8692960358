// Command gen bundles the guest prelude from its TypeScript sources into
// prelude.js. Run it with go generate from the prelude's folder.
package main

import (
	"fmt"
	"os"

	"github.com/quoinhq/quoin/guestrt/prelude/gen/bundle"
)

func main() {
	text, err := bundle.Build("src")
	if err == nil {
		err = os.WriteFile("prelude.js", text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

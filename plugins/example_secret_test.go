package plugins_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/plugins"
)

// A configuration names where a secret is and never holds it.
func ExampleParseSecretSource() {
	dir, err := os.MkdirTemp("", "secret-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path, []byte("xyzzy\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	source, err := plugins.ParseSecretSource("file:" + path)
	if err != nil {
		log.Fatal(err)
	}
	secret, err := source()
	fmt.Println(secret, err)
	// Output: xyzzy <nil>
}

// Discover finds the plugins of a directory without starting them.
func ExampleDiscover() {
	dir, err := os.MkdirTemp("", "plugins-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	memos := filepath.Join(dir, "memos")
	if err := os.Mkdir(memos, 0o700); err != nil {
		log.Fatal(err)
	}
	manifest := `{"id": "memos", "version": "1.0.0", "protocol": 2, "command": "./memos"}`
	if err := os.WriteFile(filepath.Join(memos, "plugin.json"), []byte(manifest), 0o600); err != nil {
		log.Fatal(err)
	}
	found, err := plugins.Discover(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range found {
		fmt.Println(c.ID(), c.Manifest.Version)
	}
	// Output: memos 1.0.0
}

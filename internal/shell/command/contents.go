package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/quoinhq/quoin/internal/durable"
)

// File is a file of commands, as it was when it was judged.
type File struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // SHA-256, in hexadecimal; or why it cannot be read
}

// buildFiles are those that a program takes commands from without being told.
var buildFiles = map[string]string{
	"make": "GNUmakefile makefile Makefile", "gmake": "GNUmakefile makefile Makefile", "bmake": "makefile Makefile", "npm": "package.json", "npx": "package.json", "pnpm": "package.json", "yarn": "package.json", "bun": "package.json",
	"just": "justfile .justfile Justfile", "task": "Taskfile.yml Taskfile.yaml", "cargo": "Cargo.toml build.rs", "go": "go.mod", "mvn": "pom.xml", "gradle": "build.gradle build.gradle.kts", "docker": "Dockerfile compose.yaml docker-compose.yml",
	"cmake": "CMakeLists.txt", "ninja": "build.ninja", "rake": "Rakefile", "tox": "tox.ini", "nox": "noxfile.py", "composer": "composer.json", "mix": "mix.exs", "ansible-playbook": "ansible.cfg", "terraform": "main.tf",
}

// maxContents bounds the files that an approval covers with their contents, and
// maxContentBytes the bytes of one.
const (
	maxContents     = 24
	maxContentBytes = 64 << 20
)

// contents are the files that the words of a line name.
type contents struct {
	code, data []string // of programs that run what is in them, and of others
	loaders    []string // programs that may load more
}

func contentDigest(p string) string {
	f, info, err := durable.Open(p)
	if err != nil {
		return "it cannot be read"
	}
	defer func() { _ = f.Close() }() // it was read
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxContentBytes)); err != nil {
		return "it cannot be read"
	}
	if info.Size() > maxContentBytes {
		return fmt.Sprintf("%x of its first %d bytes, it has %d and was changed %v", h.Sum(nil), maxContentBytes, info.Size(), info.ModTime())
	}
	return hex.EncodeToString(h.Sum(nil))
}

package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

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

// maxContents bounds the files whose contents an approval is for, and the bytes of one.
const (
	maxContents     = 24
	maxContentBytes = 64 << 20
)

// contents are the files that the words of a line name.
type contents struct {
	code, data []string // of programs that run what is in them, and of others
	loaders    []string // programs that may load more
}

// runs notes what a program that runs code may run.
func (c *contents) runs(r *reading, exe *executable, args []word) {
	c.code = append(c.code, r.paths(args)...)
	if name := exe.name; !slices.Contains(c.loaders, name) {
		c.loaders = append(c.loaders, name)
	}
	for name := range strings.FieldsSeq(buildFiles[exe.kind()]) {
		c.code = append(c.code, r.paths([]word{literal(name)})...)
		for _, a := range args { // -C DIR
			c.code = append(c.code, r.paths([]word{literal(path.Join(a.text, name))})...)
		}
	}
}

// paths are what words may name, from each directory that the command may run in.
func (r *reading) paths(args []word) (out []string) {
	for _, a := range args {
		_, value, _ := strings.Cut(a.text, "=")
		for _, dir := range r.dirs {
			for _, text := range []string{a.text, value} {
				switch {
				case text == "" || dir == "":
				case path.IsAbs(text):
					out = append(out, text)
				default:
					out = append(out, dir+"/"+text)
				}
			}
		}
	}
	return out
}

// files are those that an approval of the line is for. Where a program takes commands from its input, or a part of the line
// is not understood, any file may be one of commands.
func (r *reading) files() (out []File) {
	all := r.contents.code
	if r.deaf || !r.plain {
		all = append(slices.Clone(all), r.contents.data...)
	}
	slices.Sort(all)
	for _, p := range slices.Compact(all) {
		if st, err := os.Stat(p); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if len(out) == maxContents {
			r.unclear("it names more than %d files", maxContents)
			break
		}
		out = append(out, File{Path: p, Digest: contentDigest(p)})
	}
	return out
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

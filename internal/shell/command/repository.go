package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
)

// The bounds of what is read of repositories.
const (
	maxGitConfig = 1 << 20
	maxGitIndex  = 64 << 20
	maxGitWalk   = 20_000
	maxGitDirs   = 16
)

// checkRepositories says which settings, and which hooks if they would run, of the repositories in a directory, and of
// their submodules, may name a program. It reads files alone: git does not run.
func checkRepositories(dir string, hooks bool) (problems []string) {
	tell := func(format string, args ...any) {
		if p := fmt.Sprintf(format, args...); !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	for {
		checkWorktree(dir, hooks, tell)
		if _, err := os.Stat(dir + "/HEAD"); err == nil {
			checkGitDir(dir, hooks, tell) // a bare one
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return problems
		}
		dir = parent
	}
}

type teller = func(format string, args ...any)

// checkWorktree looks at the repository that a directory is the top of, if it is one.
func checkWorktree(dir string, hooks bool, tell teller) {
	git := dir + "/.git"
	info, err := os.Stat(git)
	switch {
	case err != nil:
		return
	case !info.IsDir():
		text, err := durable.ReadFile(git, 4<<10)
		to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
		if err != nil || !ok {
			tell("%s cannot be read", git)
			return
		}
		if git = to; !filepath.IsAbs(to) {
			git = dir + "/" + to // not clean: links on the way count
		}
	}
	if checkGitDir(git, hooks, tell) {
		walk(dir, ".git", tell, func(path string) {
			if sub := filepath.Dir(path); sub != dir {
				checkWorktree(sub, hooks, tell)
			}
		})
	}
}

// checkGitDir looks at the directory of a repository. It reports whether the index has submodules, which git runs in.
func checkGitDir(git string, hooks bool, tell teller) (submodules bool) {
	common := git
	if text, err := durable.ReadFile(git+"/commondir", 4<<10); err == nil {
		if common = strings.TrimRight(string(text), "\r\n"); !filepath.IsAbs(common) {
			common = git + "/" + common
		}
	}
	for _, file := range []string{git + "/config", git + "/config.worktree", common + "/config"} {
		checkGitFile(file, tell)
	}
	if hooks {
		checkHooks(common+"/hooks", tell)
		walk(common+"/modules", "hooks", tell, func(path string) {
			if _, err := os.Stat(filepath.Dir(path) + "/HEAD"); err == nil { // and no branch of this name
				checkHooks(path, tell)
			}
		})
	}
	walk(common+"/modules", "config", tell, func(path string) { checkGitFile(path, tell) })
	walk(common+"/modules", "config.worktree", tell, func(path string) { checkGitFile(path, tell) })
	indexes, err := filepath.Glob(escapeGlob(git) + "/*index*")
	for _, file := range indexes {
		text, readErr := durable.ReadFile(file, maxGitIndex)
		submodules = submodules || readErr != nil || bytes.Contains(text, []byte{0, 0, 0xE0, 0}) // the mode of a submodule
	}
	return submodules || err != nil
}

// checkHooks names the hooks in a directory of them.
func checkHooks(dir string, tell teller) {
	entries, _ := os.ReadDir(dir) // what cannot be read here is not there for git
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") {
			tell("the repository has the hook %s, which is a program", e.Name())
		}
	}
}

func checkGitFile(file string, tell teller) {
	text, err := durable.ReadFile(file, maxGitConfig)
	switch {
	case err == nil:
		checkGitConfig(string(text), func(format string, args ...any) {
			if strings.Contains(file, "/.git/modules/") && len(args) == 1 && args[0] == "core.worktree" {
				return // git writes it for each submodule
			}
			tell(format, args...)
		})
	case !errors.Is(err, fs.ErrNotExist):
		tell("the configuration of the repository cannot be read")
	}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// walk finds the entries of a name below a directory.
func walk(dir, name string, tell teller, found func(path string)) {
	left := maxGitWalk
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch left--; {
		case err != nil:
			return fs.SkipDir // what cannot be read here is not there for git
		case left < 0:
			tell("the repository has submodules, and more than %d files to look for them", maxGitWalk)
			return fs.SkipAll
		case d.Name() == name:
			found(path)
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
}

// checkGitConfig names the settings of a configuration that are not harmless. It reads each line by itself: what would
// make a line mean something else, such as a value that continues, is named as well.
func checkGitConfig(text string, tell teller) {
	section := ""
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.Trim(line, " \t\r\n")
		if strings.HasSuffix(line, "\\") || strings.ContainsAny(line, "\x00\r\v\f") {
			tell("the configuration of the repository has a line that goes on, or one that is not text")
			return
		}
		for strings.HasPrefix(line, "[") {
			var ok bool
			if section, line, ok = gitSection(line); !ok {
				tell("the configuration of the repository cannot be read")
				return
			}
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimRight(key, " \t"))
		if !harmlessGitSetting(section, key, strings.TrimLeft(value, " \t")) {
			tell("the configuration of the repository sets %s, which may run a program", strings.Replace(section+"."+key, "+.", ".*.", 1))
		}
	}
}

// gitSection takes a header such as [remote "origin"] from a line.
func gitSection(line string) (section, rest string, ok bool) {
	head, rest, ok := strings.Cut(line[1:], "]")
	name, _, quoted := strings.Cut(head, `"`)
	if quoted { // a ] may stand in the quotes
		at := len(name) + 2
		for ; at < len(line) && line[at] != '"'; at++ {
			if line[at] == '\\' {
				at++
			}
		}
		if at+1 >= len(line) || line[at+1] != ']' {
			return "", "", false
		}
		rest = line[at+2:]
	}
	name, _, dotted := strings.Cut(strings.ToLower(strings.Trim(name, " \t")), ".")
	if quoted || dotted {
		name += "+"
	}
	return name, strings.TrimLeft(rest, " \t"), ok
}

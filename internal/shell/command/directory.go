package command

import (
	"path/filepath"
	"slices"
	"strings"
)

// enter notes that the commands from here on may run in another directory.
func (r *reading) enter(args []word) {
	switch {
	case len(args) == 0, strings.HasPrefix(args[0].quoted, "~"):
		r.dirs = nil // a home, which another command may have changed
	case args[0].text != "-":
		r.dirs = append(r.dirs, below(r.dirs, args[0].text)...)
	}
	if len(r.dirs) > maxGitDirs {
		r.dirs = nil
	}
}

// below are the directories that a path leads to from others: as a shell reads it, and as the system does.
func below(dirs []string, path string) (out []string) {
	for _, dir := range dirs {
		if dir == "" {
			return []string{""}
		}
		full := path
		if !filepath.IsAbs(path) {
			full = dir + "/" + path
		}
		for _, d := range []string{filepath.Clean(full), full} {
			if real, err := filepath.EvalSymlinks(d); err == nil && !slices.Contains(out, real) {
				out = append(out, real)
			}
		}
	}
	return out
}

// gitStarters are programs that start git in the repository they are called in.
var gitStarters = set("git go tig lazygit hub git-lfs git-gui git-cola git-shell gitk gitui stg jj sl sapling pre-commit lefthook lint-staged")

// readsRepositories reports whether a program runs what the configuration of a repository names.
func (e *executable) readsRepositories() bool {
	return slices.ContainsFunc(e.kinds(), func(kind string) bool { return gitStarters[kind] })
}

// repositories puts to a person what the repositories that a command reads name of programs.
func (r *reading) repositories(exe *executable, args []word) {
	dirs, problems := r.dirs, []string{}
	if p := exe.profile(); p != nil && p.options != nil {
		if _, err := p.place(args); err != nil { // such as --git-dir
			dirs = nil
		}
	}
	for at, i := dirs, 0; i < len(args); i++ {
		value, ok := strings.CutPrefix(strings.TrimPrefix(args[i].text, "-"), "-C=")
		if args[i].text == "-C" && i+1 < len(args) {
			value, ok = args[i+1].text, true
		}
		if ok {
			at = below(at, value)
			dirs = slices.Concat(dirs, at)
		}
	}
	hooks := exe.kind() != "go" && len(exe.hardened(args)) == len(args) // nothing keeps them from running
	for _, dir := range dirs {
		if dir != "" {
			problems = append(problems, checkRepositories(dir, hooks)...)
		}
	}
	if len(dirs) == 0 {
		problems = append(problems, "which repository it reads is not known")
	}
	for _, p := range problems {
		r.rememberable = false
		r.unlisted("%s: %s", exe.name, p)
	}
}

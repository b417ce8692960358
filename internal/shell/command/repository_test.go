package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// ordinaryConfig is what clones, hosts of repositories and editors write.
const ordinaryConfig = `[core]
	repositoryformatversion = 1
	filemode = true
	bare = false ; a comment
	logallrefupdates = true
	fsmonitor = false
# [core] fsmonitor = evil
[remote "origin"]
	url = https://example.com/a.git
	fetch = +refs/heads/*:refs/remotes/origin/*
	promisor = true
	partialclonefilter = blob:none
[branch "main"]
	remote = origin
	merge = refs/heads/main
	vscode-merge-base = origin/main
[branch "a]b \" c"]
	remote = origin
[extensions]
	worktreeConfig = true
[submodule]
	active = .
[submodule "lib"]
	url = ../lib.git
[user] name = N
	email = "n@example.com"
[http "https://example.com/"]
	extraheader = AUTHORIZATION: basic x
[remote "fork"]
	gh-resolved = base
[remote]
	pushDefault = fork
[branch]
	autoSetupRebase = always
[branch "topic"]
	mergeOptions = --no-ff ; and a comment
[blame]
	ignoreRevsFile = .git-blame-ignore-revs
[commit]
	gpgSign = true
[gpg]
	format = ssh
[protocol]
	version = 2
[advice]
	detachedHead = false
[color "status"]
	added = green
[column]
	ui = auto
[tag]
	sort = -v:refname
[submodule "docs"]
	update = rebase
[diff "golang"]
	xfuncname = "^func"
[checkout]
	defaultRemote = origin
[credential "https://dev.azure.example"]
	useHttpPath = true
[lfs "https://example.com/a.git/info/lfs"]
	locksverify = true
[gitflow "branch"]
	master = main
`

// TestWhatARepositoryNamesIsAsked puts each setting that names a program into a repository, and looks at commands that
// are allowed without it. git does not run.
func TestWhatARepositoryNamesIsAsked(t *testing.T) {
	t.Parallel()
	j := newJudge(t, func(s *settings.Settings) {
		s.Path, s.Allow = []string{programs(t, probe)}, []string{"git", "go", "ls"}
	})
	repository := func(t *testing.T, config string) string {
		dir := t.TempDir()
		mkdirs(t, dir, ".git/objects", "src/deep")
		write(t, dir+"/.git/HEAD", "ref: refs/heads/main\n", 0o644)
		write(t, dir+"/.git/config", config, 0o644)
		return dir
	}
	good := repository(t, ordinaryConfig)
	for _, line := range []string{"git status", "git -C src log", "cd src && git diff", "go list ./...", "git push origin"} {
		if g := j.In(good).Judge(line, nil); g.Allowed != !strings.Contains(line, "push") {
			t.Errorf("%s: %q", line, g.Reasons)
		}
	}
	for _, config := range []string{
		"[core]\n\tfsmonitor = /tmp/evil", "[CORE] FSMonitor=evil", "[core]fsmonitor", "[core] sshCommand = x", "[core]\n hooksPath = x", "[core] worktree = /x", "[core] gitProxy = x", "[core] pager = x", "[core]\n alternateRefsCommand = x",
		"[diff \"x\"] textconv = x", "[diff.x] textconv = x", "[diff] external = x", "[diff \"x\"]\n command = x", "[filter \"x\"] clean = x", "[filter \"x\"] process = x", "[merge \"x\"] driver = x", "[remote \"o\"] uploadpack = x", "[remote \"o\"] vcs = x",
		"[remote \"o\"] url = ext::evil", "[remote \"o\"] pushurl = \"ext::evil\"", "[submodule \"a\"] url = ext::evil", "[submodule \"a\"] update = !evil", "[protocol \"ext\"] allow = always", "[credential] helper = !x", "[gpg] program = x", "[gpg \"ssh\"] program = x",
		"[include] path = x", "[includeIf \"gitdir:/\"] path = x", "[alias] x = !evil", "[url \"ext::evil\"] insteadOf = https://", "[trailer \"x\"] command = x", "[pager] log = x", "[lfs] x = y", "[lfs \"customtransfer.x\"] path = evil", "[a] [core] fsmonitor = x",
		"[color]\n ui = a \\\n[color]\nfsmonitor = evil", "[core \"x\"] bare = x", "[branch \"a\"] [core] fsmonitor = x", "[branch \"a\\\"]\"] [core] fsmonitor = x", "\ufeff[core]\nfsmonitor = x", "[core]\r\nfsmonitor = x\r\n", "[core]\rfsmonitor = x", "[core\nfsmonitor = x", "[pretty] x = %GG", "[format] pretty = %GG", "[sequence] editor = x",
		"[gc] recentObjectsHook = x", "[merge \"ours\"] driver = true", "[branch \"m\"] mergeOptions = -s evil", "[branch \"m\"] remote = ext::evil", "[remote] pushDefault = ext::evil", "[remote \"o\"] url = ext:\"\":evil", "[gitflow \"path\"] hooks = x", "[uploadpack] packObjectsHook = x", "[core] fsmonitor = true evil", "[help] autoCorrect = 1",
		"[tar \"x\"] command = x", "[sendemail] toCmd = x", "[advice \"x\"] y = x", "[imap] tunnel = x", "[man \"x\"] cmd = x", "[pull] twohead = evil", "[core] askPass = x", "[lfs] url = ssh://x", "[color] ui = auto\n[core] editor = x",
	} {
		dir := repository(t, config+"\n")
		for _, line := range []string{"git status", "git log -p", "go list ./...", "git -C src status", "cd src && git status", "cd src/deep; git log", "timeout 5 git status", "sh -c 'cd src; git status'", "git -C src -C deep log", "go -C src list"} {
			if g := j.In(dir).Judge(line, nil); g.Allowed || len(g.Reasons) == 0 || g.Subject != "" {
				t.Errorf("%q: %s is allowed", config, line)
			}
		}
		if g := j.In(dir).Judge("ls", nil); !g.Allowed {
			t.Errorf("%q: ls is not allowed: %q", config, g.Reasons)
		}
		for _, line := range []string{"cd " + dir + " && git status", "git -C " + dir + " status", "cd -P " + dir + "; git status", "git --git-dir=" + dir + "/.git status", "cd; git status", "cd ~/x; git status", "go -C " + dir + " list", "go list -C " + dir, "cd " + dir + "/.git && git log"} {
			if j.In(good).Judge(line, nil).Allowed {
				t.Errorf("%q: %s is allowed from elsewhere", config, line)
			}
		}
	}
}

// TestRepositoriesBehindARepository: a file .git, a worktree, a submodule and a bare repository lead to settings.
func TestRepositoriesBehindARepository(t *testing.T) {
	t.Parallel()
	j := newJudge(t, func(s *settings.Settings) { s.Path, s.Allow = []string{programs(t, probe)}, []string{"git"} })
	const evil = "[filter \"x\"]\n\tclean = evil\n"
	for name, make := range map[string]func(dir string){
		"a file .git": func(dir string) {
			mkdirs(t, dir, "git")
			write(t, dir+"/.git", "gitdir: git\n", 0o644)
			write(t, dir+"/git/config", evil, 0o644)
		},
		"a file that lies": func(dir string) { write(t, dir+"/.git", "gitdir git\n", 0o644) },
		"a linked worktree": func(dir string) {
			mkdirs(t, dir, "main/.git/worktrees/w")
			write(t, dir+"/.git", "gitdir: "+dir+"/main/.git/worktrees/w", 0o644)
			write(t, dir+"/main/.git/worktrees/w/commondir", "../..\n", 0o644)
			write(t, dir+"/main/.git/config", evil, 0o644)
		},
		"settings of a worktree": func(dir string) { mkdirs(t, dir, ".git"); write(t, dir+"/.git/config.worktree", evil, 0o644) },
		"a submodule": func(dir string) {
			mkdirs(t, dir, ".git/modules/a/b")
			write(t, dir+"/.git/modules/a/b/config", evil, 0o644)
		},
		"a repository in the index": func(dir string) {
			mkdirs(t, dir, ".git", "x/y/.git")
			write(t, dir+"/.git/index", "DIRC....\x00\x00\xe0\x00....", 0o644)
			write(t, dir+"/x/y/.git/config", evil, 0o644)
		},
		"a bare one": func(dir string) {
			mkdirs(t, dir, "objects")
			write(t, dir+"/HEAD", "x", 0o644)
			write(t, dir+"/config", evil, 0o644)
		},
		"a parent":                func(dir string) { mkdirs(t, dir, "../.git"); write(t, dir+"/../.git/config", evil, 0o644) },
		"a pipe":                  func(dir string) { mkdirs(t, dir, ".git"); mkdirs(t, dir, ".git/config/x") },
		"a directory as settings": func(dir string) { mkdirs(t, dir, ".git/config") },
		"modules that lead around": func(dir string) {
			mkdirs(t, dir, ".git/modules/a")
			write(t, dir+"/.git/modules/a/commondir", "../..\n", 0o644)
			write(t, dir+"/.git/modules/a/config", evil, 0o644)
		},
	} {
		dir := filepath.Join(t.TempDir(), "work")
		mkdirs(t, dir, ".")
		make(dir)
		if g := j.In(dir).Judge("git status", nil); g.Allowed || len(g.Reasons) == 0 {
			t.Errorf("%s: allowed", name)
		}
	}
}

// TestHooksAreAskedWhereTheyRun: a command that git does not get the hooks taken away for is asked about them.
func TestHooksAreAskedWhereTheyRun(t *testing.T) {
	t.Parallel()
	j := newJudge(t, func(s *settings.Settings) {
		s.Path, s.Allow = []string{programs(t, probe)}, []string{"git", "git push origin", "git commit", "tig log"}
	})
	for _, hook := range []string{"", "hooks/pre-push", "modules/lib/hooks/post-checkout"} {
		dir := t.TempDir()
		mkdirs(t, dir, ".git/hooks", ".git/modules/lib/hooks", ".git/modules/lib/refs/heads/hooks")
		for _, name := range []string{"hooks/pre-push.sample", "modules/lib/HEAD", "modules/lib/refs/heads/hooks/x", hook} {
			if name != "" {
				write(t, dir+"/.git/"+name, "x", 0o755)
			}
		}
		for line, runs := range map[string]bool{"git status": false, "git push origin": true, "git commit": true, "tig log": true} {
			if g := j.In(dir).Judge(line, nil); g.Allowed != !(hook != "" && runs) {
				t.Errorf("hook %q, %s: allowed %v, %q", hook, line, g.Allowed, g.Reasons)
			}
		}
	}
}

// TestRealRepositoriesAreOrdinary: what git itself writes is no question.
func TestRealRepositoriesAreOrdinary(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		// What the repository says is tested without git, too.
		t.Skip("no git: ", err)
	}
	dir := t.TempDir()
	const script = `set -e
git init -q lib && cd lib && git config user.name n && git config user.email n@example.org && git commit -q --allow-empty -m x && cd ..
git clone -q lib work && cd work && git config user.name n && git config user.email n@example.org
git -c protocol.file.allow=always submodule --quiet add ../lib lib && git commit -qm y && git worktree add -q ../tree && git sparse-checkout set src`
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	j := newJudge(t, func(s *settings.Settings) { s.Allow = []string{"git"} })
	for _, sub := range []string{"lib", "work", "tree", "work/lib"} {
		if g := j.In(filepath.Join(dir, sub)).Judge("git status && git log -p", nil); !g.Allowed {
			t.Errorf("%s: %q", sub, g.Reasons)
		}
	}
}

func mkdirs(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzGitConfig: no text breaks the reader, and a setting that a text ends with is found whatever stands before it.
func FuzzGitConfig(f *testing.F) {
	f.Add(ordinaryConfig)
	f.Add("[a \"\\")
	f.Add("[x\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		found := false
		checkGitConfig(text+"\n[core]\nfsmonitor = x\n", func(string, ...any) { found = true })
		if !found {
			t.Errorf("%q hides a setting", text)
		}
	})
}

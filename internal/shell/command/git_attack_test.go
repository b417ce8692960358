package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/shell/settings"
)

// hostileGitConfig has git run a program in each way that a configuration can, but for
// filters: there is no way to have git do without those. A configuration is not part of
// what is cloned, and nothing that is allowed writes one.
const hostileGitConfig = `
[core]
	fsmonitor = "PROGRAM fsmonitor"
	pager = "PROGRAM pager"
	editor = "PROGRAM editor"
	sshCommand = "PROGRAM ssh"
	askpass = PROGRAM
	hooksPath = HOOKS
	alternateRefsCommand = "PROGRAM alternates"
	gitProxy = PROGRAM
	attributesFile = ATTRIBUTES
	untrackedCache = true
	fsync = none
[pager]
	status = "PROGRAM pager.status"
	log = "PROGRAM pager.log"
	diff = "PROGRAM pager.diff"
	show = "PROGRAM pager.show"
	branch = "PROGRAM pager.branch"
[diff]
	external = PROGRAM
	submodule = diff
[diff "x"]
	command = PROGRAM
	textconv = "PROGRAM textconv <"
	cachetextconv = false
[merge "x"]
	driver = "PROGRAM merge"
[alias]
	status = "!PROGRAM alias"
	st = "!PROGRAM alias"
	lg = "!PROGRAM alias"
[gpg]
	program = PROGRAM
[gpg "ssh"]
	program = PROGRAM
	defaultKeyCommand = "PROGRAM"
[log]
	showSignature = true
[credential]
	helper = "!PROGRAM credential"
[interactive]
	diffFilter = "PROGRAM filter"
[sequence]
	editor = "PROGRAM sequence"
[uploadpack]
	packObjectsHook = "PROGRAM hook"
[remote "origin"]
	url = "ext::PROGRAM remote"
	uploadpack = "PROGRAM uploadpack"
	promisor = true
	partialclonefilter = blob:none
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[protocol "file"]
	allow = always
[extensions]
	partialClone = origin
[submodule "sub"]
	update = "!PROGRAM update"
	active = true
[trailer "x"]
	key = X
	command = "PROGRAM trailer"
	cmd = "PROGRAM trailer"
[web]
	browser = x
[browser "x"]
	cmd = "PROGRAM browser"
[man]
	viewer = x
[man "x"]
	cmd = "PROGRAM man"
[help]
	autoCorrect = immediate
	format = man
[tar "tar.gz"]
	command = "PROGRAM tar"
[difftool "x"]
	cmd = "PROGRAM difftool"
[blame]
	ignoreRevsFile =
[column]
	ui = auto
[color]
	ui = always
`

// gitLines are commands that only read, whatever the repository is configured to run.
var gitLines = []string{
	"git status", "git status -s", "git status --porcelain=v2 -uall", "git log", "git status -v", "git status -vv", "git status --verbose", "git log -p", "git log --stat -3", "git log -p --show-notes", "git log -p -- f", "git show", "git show HEAD:f", "git show --stat HEAD",
	"git show HEAD~1", "git diff", "git diff HEAD~1", "git diff --stat", "git diff --cached", "git diff --name-only", "git diff --submodule=diff HEAD~1", "git diff-files -p", "git diff-index -p HEAD", "git diff-tree -p HEAD",
	"git blame f", "git grep one", "git grep --cached one", "git branch", "git branch -a", "git tag", "git remote -v", "git stash list", "git stash show -p", "git stash show", "git reflog", "git shortlog", "git shortlog HEAD", "git whatchanged -p", "git range-diff HEAD~1 HEAD HEAD",
	"git rev-parse HEAD", "git describe --always --dirty", "git ls-files", "git ls-files -m", "git ls-files -o --exclude-standard", "git ls-tree HEAD", "git cat-file -p HEAD", "git config --get user.name", "git config --list", "git worktree list", "git cherry HEAD~1",
	"git for-each-ref", "git show-ref", "git merge-base HEAD HEAD~1", "git name-rev HEAD", "git count-objects -v", "git check-ignore f", "git check-attr -a f", "git rev-list HEAD", "git version", "git st", "git lg", "git log --format=%(trailers:key=X)", "git cat-file --textconv HEAD:f", "git cat-file --filters HEAD:f",
	"git cat-file -t HEAD", "git -C . status", "env -i git status", "env -u GIT_PAGER git log -p", "git -p log", "git --paginate diff HEAD~1", "git log -p --textconv", "git blame --textconv f", "git diff --textconv HEAD~1", "git grep --textconv one", "git help log", "git log --help", "git --help", "git status --help",
	"git archive HEAD", "git ls-remote", "git ls-remote origin", "git fetch", "git hash-object f", "git log -G one", "git log -S one", "git diff --no-index f g", "git diff -- f", "git log --ext-diff -p", "git show --ext-diff", "git fsck", "git log --objects missing", "git cat-file -p 1111111111111111111111111111111111111111", "git show 1111111111111111111111111111111111111111",
	"git submodule status", "git status --ignore-submodules=none", "git diff lib", "git diff HEAD~1 -- lib", "git log -p -- lib", "git show HEAD -- lib", "cd lib && git status", "cd lib && git diff", "cd lib && git log -p", "git -C lib diff HEAD", "git var GIT_EDITOR", "git rev-list --objects --all", "git log --show-signature", "git log --pretty=%GG", "git tag -v x", "git verify-commit HEAD", "git diff --ignore-submodules=none", "cd bare && git status", "cd bare && git log -p", "cd bare && git diff HEAD~1 HEAD", "git -C bare show", "git --git-dir=bare log -p", "cd sub && git diff", "cd bare && git cat-file --filters HEAD:f", "cd bare && git grep one HEAD",
}

// TestHostileRepositoryRunsNothing runs what is allowed of git in a repository with
// a configuration, attributes and hooks that run a program wherever git can be told
// to.
func TestHostileRepositoryRunsNothing(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git: ", err)
	}
	dir := t.TempDir()
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	write(t, program, "#!/bin/sh\necho \"$0 $@\" >>"+ran+"\nexit 0\n", 0o755)
	makeHostileRepository(t, dir, program)
	j := newJudge(t, func(s *settings.Settings) { s.Allow = []string{"git"} })
	allowed := 0
	for _, line := range gitLines {
		g := j.Judge(line, nil)
		if !g.Allowed {
			continue
		}
		allowed++
		write(t, filepath.Join(dir, "f"), "one\ntwo\nchanged\n", 0o644)
		if err := os.Chtimes(filepath.Join(dir, "f"), time.Now(), time.Now()); err != nil { // git looks at it again
			t.Fatal(err)
		}
		argv := j.Argv(g.Line)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
		out, _ := cmd.CombinedOutput() // some have nothing to show
		if b, err := os.ReadFile(ran); err == nil {
			t.Errorf("%s, run as %s, ran %s\n%s", line, g.Line, b, out)
			if err := os.Remove(ran); err != nil {
				t.Fatal(err)
			}
		}
	}
	if allowed < 40 {
		t.Errorf("only %d of %d lines are allowed", allowed, len(gitLines))
	}
}

// makeHostileRepository makes two commits and a change, and only then the configuration.
func makeHostileRepository(t *testing.T, dir, program string) {
	t.Helper()
	script := `set -e
git init -q . && git config user.name n && git config user.email n@example.org
mkdir sub && printf 'one\n' >f && printf 'x\n' >g && git add . && git commit -qm 'first' 
printf 'one\ntwo\n' >f && printf '* diff=x merge=x\n' >.gitattributes && git add . && git commit -qm 'second' -m 'X: y'
git tag x
printf 'stashed\n' >g && git stash -q
git clone -q --bare . bare
git init -q lib && (cd lib && git config user.name n && git config user.email n@example.org && printf 'one\n' >f && printf '* diff=x\n' >.gitattributes && git add . && git commit -qm l)
git add lib 2>/dev/null && git commit -qm lib && (cd lib && printf 'two\n' >f && git commit -qam m && printf 'three\n' >f)
printf 'one\ntwo\nchanged\n' >f`
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	hooks := filepath.Join(dir, "hooks")
	if err := os.Mkdir(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{"post-index-change", "fsmonitor-watchman", "pre-commit", "post-checkout", "reference-transaction", "query-watchman"} {
		if err := os.Symlink(program, filepath.Join(hooks, h)); err != nil {
			t.Fatal(err)
		}
	}
	config := strings.NewReplacer("PROGRAM", program, "HOOKS", hooks, "ATTRIBUTES", filepath.Join(dir, ".gitattributes")).Replace(hostileGitConfig)
	for _, file := range []string{".git/config", "lib/.git/config", "bare/config"} {
		old, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, file), strings.Replace(string(old), "repositoryformatversion = 0", "repositoryformatversion = 1", 1)+config, 0o644)
		if file == ".git/config" {
			continue
		}
		config += "[filter \"x\"]\n\tclean = " + program + "\n\tsmudge = " + program + "\n\tprocess = " + program + "\n"
	}
	write(t, filepath.Join(dir, "bare/info/attributes"), "* filter=x diff=x\n", 0o644)
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

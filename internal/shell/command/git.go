package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// gitProfile has the commands of git that only read. Options that run a program (--ext-diff, --textconv,
// --open-files-in-pager), that write (--output) and that set configuration (-c) are missing.
func gitProfile() *profile {
	const diff = ` pusRawbW U: M? C? B? D? G: S: l: X? z --patch --no-patch --unified= --raw --patch-with-stat --stat? --numstat --shortstat --dirstat? --cumulative --summary
		--compact-summary --name-only --name-status --color? --no-color --color-moved? --word-diff? --word-diff-regex= --no-renames --check --full-index --binary --abbrev? --no-abbrev
		--find-renames? --find-copies? --find-copies-harder --irreversible-delete --diff-filter= --pickaxe-all --pickaxe-regex --text --ignore-space-at-eol --ignore-cr-at-eol --ignore-space-change
		--ignore-all-space --ignore-blank-lines --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules? --src-prefix= --dst-prefix=
		--no-prefix --cc --minimal --patience --histogram --diff-algorithm= --relative? --no-relative --merge-base --cached --staged --no-index --combined-all-paths`
	const log = diff + ` cmgEFiPhLtx# n: L: --oneline --graph --no-graph --all --branches? --tags? --remotes? --glob= --exclude= --decorate? --no-decorate --decorate-refs= --source --author= --committer= --grep= --all-match --invert-grep
		--regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --since= --until= --after= --before= --max-count= --skip= --merges --no-merges --min-parents= --max-parents= --first-parent
		--follow --reverse --date= --date-order --topo-order --author-date-order --abbrev-commit --no-abbrev-commit --format= --pretty? --left-right --cherry-pick --cherry-mark --cherry --boundary --simplify-by-decoration
		--full-history --ancestry-path? --children --parents --no-walk? --stdin --count --timestamp --left-only --right-only --walk-reflogs --notes? --no-notes --log-size --full-diff --no-expand-tabs --expand-tabs? --reflog --no-show-signature --objects`
	history := &profile{options: readOptions(log)}
	listing := func(options string) *profile { return &profile{options: readOptions(options), check: noOperands} }
	none := readOptions("")
	p := &profile{
		options: readOptions("P C: --no-pager --version --no-optional-locks --literal-pathspecs --no-replace-objects"),
		commands: map[string]*profile{
			"log": history, "show": history, "shortlog": history, "whatchanged": history, "rev-list": history,
			"reflog": {options: readOptions(log), check: reflog},
			"diff":   read(diff), "diff-tree": read(log), "diff-index": read(diff), "diff-files": read(diff),
			"status":        read("sbz u? M? --short --branch --show-stash --porcelain? --long --untracked-files? --ignored? --ignore-submodules? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?"),
			"ls-files":      read("cdmoiskutvfz x: X: --cached --deleted --modified --others --ignored --stage --killed --unmerged --directory --no-empty-directory --eol --exclude= --exclude-standard --error-unmatch --full-name  --abbrev? --deduplicate --format="),
			"ls-tree":       read("drtlz --name-only --name-status --long --full-name --full-tree --abbrev? --object-only --format="),
			"cat-file":      read("tspe --batch? --batch-check? --batch-all-objects --allow-unknown-type --unordered"),
			"blame":         read("bcltfneswM L: S: # --porcelain --line-porcelain --root --show-stats --incremental --show-name --show-number --show-email --abbrev= --date= --since= --reverse --first-parent --color-lines --color-by-age"),
			"grep":          read("aiIwvEGPFnhHlLzcoqWp A: B: C: e: m: f: # --text --ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --count --color? --no-color --break --heading --show-function --function-context --after-context= --before-context= --context= --max-count= --threads= --all-match --quiet --cached --untracked --no-index --exclude-standard --no-exclude-standard  --max-depth= --and --or --not"),
			"rev-parse":     read("q --all --branches? --tags? --remotes? --abbrev-ref? --short? --verify --quiet --show-toplevel --show-cdup --show-prefix --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --symbolic --symbolic-full-name --show-superproject-working-tree --show-object-format? --since= --until= --revs-only --no-revs --flags --no-flags --path-format="),
			"describe":      read("--all --tags --contains --abbrev= --candidates= --exact-match --debug --long --match= --exclude= --always --first-parent --dirty? --broken?"),
			"merge-base":    read("a --all --octopus --independent --is-ancestor --fork-point"),
			"name-rev":      read("--tags --refs= --exclude= --all --name-only --no-undefined --always"),
			"show-ref":      read("qsd --head --heads --branches --tags --dereference --hash? --verify --quiet --abbrev? --exists"),
			"for-each-ref":  {options: readOptions("--count= --sort= --format= --points-at= --merged? --no-merged? --contains? --no-contains? --ignore-case --omit-empty --exclude="), check: nil},
			"branch":        gitListing("arvi --all --remotes --list --verbose --show-current --color? --no-color --column? --no-column --sort= --merged? --no-merged? --contains= --no-contains= --points-at= --format= --abbrev? --no-abbrev --ignore-case"),
			"tag":           gitListing("n# --list --sort= --format= --column? --no-column --color? --merged? --no-merged? --contains= --no-contains= --points-at= --ignore-case"),
			"remote":        {options: readOptions("v --verbose"), alone: true, commands: map[string]*profile{"get-url": read("--push --all")}},
			"stash":         {options: none, commands: map[string]*profile{"list": history, "show": read(diff)}},
			"worktree":      {options: none, commands: map[string]*profile{"list": listing("vz --porcelain --verbose")}},
			"config":        {options: readOptions("lz --list --get --get-all --get-regexp --global --local --system --worktree --show-origin --show-scope --name-only --null --type= --bool --int --path"), with: gitConfig},
			"count-objects": listing("vH --verbose --human-readable"),
			"check-ignore":  read("qvnz --quiet --verbose --stdin --non-matching --no-index"),
			"check-attr":    read("az --all --cached --stdin"),
			"symbolic-ref":  {options: readOptions("q --quiet --short"), operands: 1},
			"cherry":        read("v --abbrev?"),
			"submodule":     {options: none, commands: map[string]*profile{}},
			"bisect":        {options: none, commands: map[string]*profile{"log": listing("")}},
			"version":       read("--build-options"),
		},
	}
	p.alone, p.words, p.harden = true, gitFormats, hardenGit
	return p
}

// gitFormats refuses them wherever they stand.
func gitFormats(args []word) error {
	for _, a := range args {
		if strings.Contains(a.text, "%G") || strings.Contains(a.text, "%(signature") || strings.Contains(a.text, "%(trailers:key=GPG") {
			return fmt.Errorf("the format %s checks signatures by a program", a.text)
		}
	}
	return nil
}

func reflog(args []word) error {
	if len(args) > 0 && slices.Contains([]string{"expire", "delete", "drop", "write"}, args[0].text) {
		return fmt.Errorf("reflog %s writes", args[0].text)
	}
	return nil
}

// gitConfig accepts what prints a setting.
func gitConfig(p parsed) error {
	if p.has("get", "get-all", "get-regexp", "list", "l") || len(p.operands) == 1 && strings.Contains(p.operands[0].text, ".") {
		return nil
	}
	return errors.New("config may write: use config --get")
}

// gitListing accepts patterns of names after --list.
func gitListing(options string) *profile {
	return &profile{options: readOptions(options), with: func(p parsed) error {
		if p.has("list") {
			return nil
		}
		return noOperands(p.operands)
	}}
}

// gitSettings keep the configuration of a repository, which may be hostile, from running programs.
var gitSettings = []string{
	"core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false", "log.showSignature=false", "gpg.program=false", "gpg.ssh.program=false", "gpg.x509.program=false", "protocol.allow=never",
	// What a repository says of one protocol counts more than protocol.allow.
	"protocol.ext.allow=never", "protocol.file.allow=never", "protocol.ssh.allow=never", "protocol.git.allow=never", "protocol.fd.allow=never",
	"protocol.http.allow=never", "protocol.https.allow=never", "protocol.ftp.allow=never", "protocol.ftps.allow=never",
	// A diff of a submodule is one by a git that gets no options.
	"diff.submodule=short", "submodule.recurse=false",
	// A checkout may have a whole repository as ordinary files, with a configuration.
	"safe.bareRepository=explicit",
}

// gitDiffs are the commands that would run the programs of a repository's attributes.
var gitDiffs = []string{"log", "show", "whatchanged", "diff", "diff-tree", "diff-index", "diff-files", "stash", "reflog", "blame"}

// hardenGit adds words to the arguments of a command that only reads.
func hardenGit(args []word, command int) []word {
	out := []word{literal("--no-pager")}
	for _, s := range gitSettings {
		out = append(out, literal("-c"), literal(s))
	}
	out = append(out, args[:command+1]...)
	name, rest := args[command].text, args[command+1:]
	if slices.Contains(gitDiffs, name) {
		if (name == "stash" || name == "reflog") && len(rest) > 0 && !strings.HasPrefix(rest[0].text, "-") {
			out, rest = append(out, rest[0]), rest[1:]
		}
		out = append(out, literal("--no-ext-diff"), literal("--no-textconv"))
	}
	return append(out, rest...)
}

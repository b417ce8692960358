package command

import (
	"slices"
	"strings"
)

// harmlessGitKeys are the settings that run no program and name no file of code, by section. All others may, today or in a
// later git: a person decides about them. A + is for a section with a name of its own, as [remote "origin"] has, and * for
// every key.
var harmlessGitKeys = map[string]bool{}

func init() {
	for section, keys := range map[string]string{
		"core": `repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf abbrev quotepath compression bigfilethreshold
			commentchar untrackedcache sharedrepository trustctime checkstat preloadindex hidedotfiles protecthfs protectntfs sparsecheckout sparsecheckoutcone longpaths whitespace
			loosecompression packedgitlimit deltabasecachelimit multipackindex commitgraph splitindex commentstring fscache fsync fsyncmethod fsyncobjectfiles createobject ignorestat
			filesreflocktimeout packedrefstimeout packedgitwindowsize prefersymlinkrefs usereplacerefs warnambiguousrefs checkroundtripencoding notesref maxtreedepth fsmonitorhookversion
			excludesfile attributesfile restrictinheritedhandles`,
		"remote+":   "url fetch push pushurl tagopt prune prunetags mirror skipdefaultupdate skipfetchall promisor partialclonefilter followremotehead serveroption gh-resolved glab-resolved",
		"remote":    "pushdefault",
		"branch":    "autosetupmerge autosetuprebase sort",
		"branch+":   "remote merge rebase description pushremote vscode-merge-base gh-merge-base gh-merge-base-name github-pr-owner-number gk-merge-base gk-merge-target gk-associated-issues gk-last-accessed gk-last-modified",
		"submodule": "active recurse fetchjobs propagatebranches alternatelocation alternateerrorstrategy", "submodule+": "url active branch ignore fetchrecursesubmodules path shallow",
		"extensions": "worktreeconfig objectformat refstorage partialclone preciousobjects compatobjectformat relativeworktrees noop", "protocol": "version",
		"user": "name email signingkey useconfigonly", "author": "name email", "committer": "name email", "init": "defaultbranch defaultobjectformat defaultrefformat", "github": "user",
		// What is signed is signed by the program of the machine: one that a repository names is a setting of its own.
		"commit": "gpgsign cleanup status template verbose", "tag": "gpgsign forcesignannotated sort", "gpg": "format mintrustlevel", "gpg+": "allowedsignersfile revocationfile",
		"pull": "rebase ff", "push": "default followtags autosetupremote recursesubmodules gpgsign negotiate pushoption usebitmaps useforceifincludes",
		"fetch": "prune prunetags parallel writecommitgraph recursesubmodules all fsckobjects negotiationalgorithm output showforcedupdates unpacklimit",
		"merge": "conflictstyle ff renamelimit renames autostash branchdesc defaulttoupstream directoryrenames log renormalize stat suppressdest verbosity", "merge+": "name",
		"rebase": "autostash autosquash updaterefs abbreviatecommands backend forkpoint missingcommitscheck rebasemerges reschedulefailedexec stat", "rerere": "enabled autoupdate", "revert": "reference",
		"status": "showuntrackedfiles short branch relativepaths aheadbehind displaycommentprefix renamelimit renames showstash",
		"diff": `renames renamelimit algorithm colormoved colormovedws context interhunkcontext mnemonicprefix noprefix relative statgraphwidth indentheuristic autorefreshindex dirstat
			ignoresubmodules orderfile srcprefix dstprefix suppressblankempty wordregex wserrorhighlight`,
		"diff+": "binary wordregex xfuncname funcname algorithm cachetextconv",
		"log":   "date decorate abbrevcommit follow diffmerges excludedecoration graphcolors initialdecorationset mailmap showroot", "mailmap": "blob file", "attr": "tree",
		"gc": `auto autodetach autopacklimit aggressivewindow pruneexpire reflogexpire writecommitgraph aggressivedepth bigpackthreshold cruftpacks maxcruftsize logexpiry packrefs
			reflogexpireunreachable rerereresolved rerereunresolved worktreepruneexpire`,
		"gc+":    "reflogexpire reflogexpireunreachable",
		"pack":   "threads window depth compression windowmemory allowpackreuse deltacachelimit deltacachesize indexversion packsizelimit usebitmaps usesparse writebitmaphashcache writebitmaplookuptable writereverseindex",
		"repack": "packkeptobjects usedeltabaseoffset usedeltaislands writebitmaps updateserverinfo", "commitgraph": "*", "reftable": "*", "feature": "manyfiles experimental",
		"index": "version threads sparse skiphash recordendofindexentries recordoffsettable", "splitindex": "maxpercentchange sharedindexexpire", "sparse": "expectfilesoutsideofpatterns",
		"maintenance": "auto autodetach strategy", "maintenance+": "enabled schedule auto",
		"advice": "*", "blame": "*", "color": "*", "color+": "*", "column": "*", "i18n": "*", "showbranch": "*", "versionsort": "*", "completion": "*",
		"grep": "column extendedregexp fallbacktonoindex fullname linenumber patterntype threads", "apply": "ignorewhitespace whitespace", "add": "ignoreerrors ignore-errors",
		"am": "keepcr threeway messageid", "checkout": "defaultremote guess workers thresholdforparallelism", "clean": "requireforce", "interactive": "singlekey",
		"clone": "defaultremotename filtersubmodules rejectshallow", "stash": "showincludeuntracked showpatch showstat", "worktree": "guessremote userelativepaths", "notes": "displayref mergestrategy rewritemode rewriteref",
		"mergetool": "hideresolved keepbackup keeptemporaries prompt writetotemp", "difftool": "prompt trustexitcode", "format": "signoff subjectprefix to cc from thread numbered suffix coverletter useautobase attach signature",
		"sendemail": "to cc bcc from suppresscc confirm thread chainreplyto annotate signedoffbycc", "trailer": "separators where ifexists ifmissing", "trailer+": "key where ifexists ifmissing",
		"transfer":   "fsckobjects credentialsinurl advertisesid unpacklimit hiderefs",
		"receive":    "denycurrentbranch denynonfastforwards denydeletes denydeletecurrent fsckobjects autogc unpacklimit maxinputsize hiderefs advertiseatomic advertisepushoptions updateserverinfo shallowupdate keepalive",
		"uploadpack": "allowfilter allowanysha1inwant allowreachablesha1inwant allowrefinwant allowtipsha1inwant hiderefs keepalive",
		"http":       "postbuffer version lowspeedlimit lowspeedtime maxrequests minsessions useragent", "http+": "extraheader postbuffer version", "credential": "username usehttppath", "credential+": "username usehttppath provider",
		"gui": "wmstate geometry encoding displayuntracked fastcopyblame matchtrackingbranch pruneduringfetch trustmtime diffcontext commitmsgwidth", "bash": "showdirtystate showuntrackedfiles", "oh-my-zsh": "hide-status hide-dirty hide-info",
		"lfs": "repositoryformatversion locksverify concurrenttransfers fetchinclude fetchexclude setlockablereadonly", "lfs+": "access locksverify", "gerrit": "createchangeid",
		"gitflow": "origin", "gitflow+": "master main develop feature bugfix release hotfix support versiontag",
	} {
		for key := range strings.FieldsSeq(keys) {
			harmlessGitKeys[section+"."+key] = true
		}
	}
}

// harmlessGitValues are the words that make a setting harmless which may name a program by others.
var harmlessGitValues = map[string][]string{
	"core.fsmonitor":       {"false", "true"}, // git itself
	"submodule+.update":    {"none", "checkout", "merge", "rebase"},
	"branch+.mergeoptions": {"--ff", "--no-ff", "--ff-only", "--squash", "--no-squash", "--no-commit", "--stat", "--no-stat"},
}

// namesRemote are the keys with the name or the address of a repository.
var namesRemote = []string{"url", "pushurl", "remote", "pushremote", "pushdefault"}

// harmlessGitSetting reports whether a setting runs no program. Its section and key are in lower case.
func harmlessGitSetting(section, key, value string) bool {
	if !strings.ContainsAny(value, `"\`) {
		if i := strings.IndexAny(value, "#;"); i >= 0 {
			value = value[:i]
		}
	}
	if slices.Contains(namesRemote, key) && (strings.Contains(strings.ReplaceAll(value, `"`, ""), "::") || strings.HasPrefix(strings.Trim(value, `"`), "-")) {
		return false // a program that transports it, or an option
	}
	if words := strings.Fields(value); len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(harmlessGitValues[section+"."+key], strings.ToLower(w)) }) {
		return true
	}
	return harmlessGitKeys[section+"."+key] || harmlessGitKeys[section+".*"]
}

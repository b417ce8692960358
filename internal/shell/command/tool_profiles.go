package command

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// goProfile has the commands of go that only read. Those that build or run code have to be written out in a rule, and do
// not get a program to run (-exec, -toolexec, -vettool), flags of other tools, or files to write.
func goProfile() *profile {
	goOptions := func(spec string) *options {
		o := readOptions(spec + " --C= --mod= --tags= --p= --race --v --x --n --json")
		o.single = true
		return o
	}
	build := "--a --msan --asan --cover --covermode= --coverpkg= --trimpath"
	test := build + " --run= --skip= --bench= --benchmem --benchtime= --count= --cpu= --failfast --fullpath --list= --parallel= --short --shuffle= --timeout= --vet= --fuzz= --fuzztime="
	return &profile{
		options: singles("--C="),
		alone:   true,
		harden:  hardenGo,
		commands: map[string]*profile{
			"version": {options: singles("--m --v")},
			"env":     {options: singles("--json --changed"), check: plainNames},
			"list":    {options: singles("--C= --tags= --json --deps --e --f= --find --m --test --u --versions --retracted")},
			"doc":     {options: singles("--all --c --cmd --short --src --u --C=")},
			"help":    {options: readOptions("")},
			"build":   {options: goOptions(build), written: true},
			"test":    {options: goOptions(test), written: true},
			"vet":     {options: goOptions(""), written: true},
		},
	}
}

// hardenGo keeps go from running git, which runs what a repository configures.
func hardenGo(args []word, command int) []word {
	at := command + 1
	if !slices.Contains([]string{"list", "build", "test", "vet"}, args[command].text) {
		return args
	}
	for ; at < len(args) && strings.HasPrefix(strings.TrimPrefix(args[at].text, "-"), "-C"); at++ { // it has to be the first
		if !strings.Contains(args[at].text, "=") {
			at++
		}
	}
	return slices.Concat(args[:at:at], []word{literal("-buildvcs=false")}, args[at:])
}

func singles(spec string) *options {
	o := readOptions(spec)
	o.single = true
	return o
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)

func plainNames(args []word) error {
	for _, a := range args {
		if a.glob || !plainName.MatchString(a.text) {
			return fmt.Errorf("%s is not a name", a.text)
		}
	}
	return nil
}

// tarProfile accepts -t with a file of this machine: a name with a colon is a file of another
// one.
func tarProfile() *profile {
	o := readOptions("tvzjJ f: C: --list --verbose --gzip --bzip2 --xz --zstd --file= --directory= --exclude= --wildcards --full-time --numeric-owner --utc --force-local")
	return &profile{words: func(args []word) error {
		args = slices.Clone(args)
		if len(args) > 0 && tarBundle.MatchString(args[0].text) {
			args[0].text = "-" + args[0].text
		}
		p, err := o.read(args, 0, false, false)
		if err != nil {
			return err
		}
		if !p.has("t", "list") {
			return errors.New("it does not list")
		}
		if i := slices.IndexFunc(args, func(w word) bool { return strings.Contains(w.text, ":") }); i >= 0 {
			return fmt.Errorf("the name %s may be that of another machine", args[i].text)
		}
		return noPatterns(p.operands)
	}}
}

// tarBundle are options without a dash. Only the last letter may have an argument.
var tarBundle = regexp.MustCompile(`^[vzjJ]*t[vzjJ]*f?$`)

func noPatterns(args []word) error {
	if i := slices.IndexFunc(args, func(w word) bool { return w.glob }); i >= 0 {
		return fmt.Errorf("the pattern %s is not in quotes", args[i].text)
	}
	return nil
}

// needing is a profile that wants one of the options.
func needing(options string, names ...string) *profile {
	return &profile{options: readOptions(options), with: func(p parsed) error {
		if !p.has(names...) {
			return fmt.Errorf("it has none of the options %s", strings.Join(names, ", "))
		}
		return nil
	}}
}

// compressor accepts what lists, tests or writes to the standard output. The last mode holds for xz: with -d after -t it
// replaces the file.
func compressor() *profile {
	return &profile{options: readOptions("ltdcvkq --list --test --stdout --to-stdout --decompress --verbose"), with: func(p parsed) error {
		if p.has("c", "stdout", "to-stdout") || p.has("l", "t", "list", "test") && !p.has("d", "decompress") {
			return nil
		}
		return errors.New("it may replace the file: add -c")
	}}
}

// rpmQuery wants -q first: -i alone installs.
func rpmQuery(args []word) error {
	if len(args) == 0 || !strings.HasPrefix(args[0].text, "-q") {
		return errors.New("its first option is not -q")
	}
	return nil
}

// ipProfile accepts the listings of ip.
func ipProfile() *profile {
	listing := &profile{options: readOptions(""), check: onlyOperands("show", "list", "ls", "lst", "sh", "dev")}
	commands := map[string]*profile{}
	for name := range strings.FieldsSeq("address addr a link l route r rule neighbour neighbor neigh n maddress tunnel") {
		commands[name] = listing
	}
	return &profile{options: ipOptions(), commands: commands}
}

func ipOptions() *options {
	o := singles("--4 --6 --s --statistics --d --details --o --oneline --br --brief --j --json --p --pretty --c --color? --h --human")
	return o
}

// onlyOperands accepts no other first operand.
func onlyOperands(first ...string) func([]word) error {
	return func(args []word) error {
		if len(args) == 0 || slices.Contains(first, args[0].text) && len(args) <= 3 && noPatterns(args) == nil {
			return nil
		}
		return fmt.Errorf("its words %s may do more than read", strings.Join(texts(args), " "))
	}
}

func dockerProfile() *profile {
	return &profile{options: readOptions(""), commands: map[string]*profile{
		"ps":      read("aqsl n: f: --all --quiet --size --latest --last= --filter= --format= --no-trunc"),
		"images":  read("aq f: --all --quiet --digests --filter= --format= --no-trunc"),
		"logs":    read("ft n: --follow --timestamps --tail= --since= --until= --details"),
		"inspect": read("s f: --size --format= --type="),
		"top":     {options: readOptions(""), operands: 1},
		"port":    read(""), "diff": read(""), "history": read("Hq --no-trunc --format= --quiet"),
		"version": {options: readOptions("f: --format="), check: noOperands},
		"info":    {options: readOptions("f: --format="), check: noOperands},
		"stats":   read("a --all --no-stream --no-trunc --format="),
	}}
}

func kubectlProfile() *profile {
	common := " n: A --namespace= --all-namespaces --context= --request-timeout="
	return &profile{options: readOptions("n: --namespace= --context="), commands: map[string]*profile{
		"get":           read("o: l: w --output= --selector= --field-selector= --show-labels --sort-by= --no-headers --watch" + common),
		"describe":      read("l: --selector= --show-events?" + common),
		"logs":          read("f p c: l: --follow --previous --container= --tail= --since= --since-time= --timestamps --all-containers --prefix --selector=" + common),
		"version":       read("o: --output= --client"),
		"api-resources": read("o: --output= --namespaced? --api-group= --verbs="),
		"explain":       read("--recursive --api-version= --output="),
		"top":           read("l: --selector= --containers --no-headers --sort-by=" + common),
	}}
}

func systemctlProfile() *profile {
	listing := read("al t: p: n: o: --all --type= --state= --no-pager --no-legend --plain --user --full --property= --value --lines= --output= --quiet")
	p := &profile{options: readOptions("--no-pager --user --plain --no-legend"), commands: map[string]*profile{}}
	for name := range strings.FieldsSeq("status show is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets list-dependencies") {
		p.commands[name] = listing
	}
	return p
}

func init() {
	for name, p := range map[string]*profile{
		"git": gitProfile(), "go": goProfile(), "sed": sedProfile(), "gsed": sedProfile(), "tar": tarProfile(), "gtar": tarProfile(), "ip": ipProfile(),
		"docker": dockerProfile(), "podman": dockerProfile(), "kubectl": kubectlProfile(), "systemctl": systemctlProfile(),
		"unzip":      needing("lvqZ1t", "l", "v", "Z", "t"),
		"gzip":       compressor(),
		"xz":         compressor(),
		"dpkg":       needing("lLsS --list --listfiles --status --search --print-architecture", "l", "L", "s", "S", "list", "listfiles", "status", "search", "print-architecture"),
		"rpm":        {options: readOptions("qail"), words: rpmQuery},
		"ss":         read("tulnpaxwersmi46 --tcp --udp --listening --numeric --processes --all --summary"),
		"locate":     read("bceiw l: n: --basename --count --existing --ignore-case --limit="),
		"ag":         read("cilLwvQsaun A: B: C: G: m: --ignore-case --files-with-matches --literal --hidden --word-regexp --nocolor --nogroup"),
		"objdump":    {options: readOptions("dDSsxtThpfrRCwzlg j: M: --disassemble? --source --syms --headers --demangle? --section= --no-show-raw-insn"), check: noResponseFile},
		"pip":        {options: readOptions("--version"), commands: map[string]*profile{"list": read("--outdated --format="), "show": read("f --files"), "freeze": read("l --local --all")}},
		"npm":        {options: readOptions("--version"), commands: map[string]*profile{"ls": read("ag --all --depth= --json --long --global"), "list": read("ag --all --depth= --json --long --global")}},
		"dmesg":      read("Tktex l: f: --ctime --level= --facility= --decode"),
		"journalctl": read("xekqarf u: n: b? p: S: U: o: t: g: --no-pager --unit= --lines= --boot? --since= --until= --priority= --output= --grep= --user --system --dmesg --reverse --follow --catalog --quiet"),
		"gofmt":      read("lds --l --d --s"),
		"shellcheck": read("x s: f: e: S: --shell= --format= --exclude= --severity="),
	} {
		profiles[name] = p
	}
	for _, name := range []string{"awk", "gawk", "mawk", "nawk", "original-awk"} {
		profiles[name] = awkProfile()
	}
}

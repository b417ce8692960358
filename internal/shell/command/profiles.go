package command

import (
	"fmt"
	"strings"
)

// codeRunners run what their arguments, their input or files of the working directory say, or write where they say.
// Without a profile nothing of them is allowed that a rule does not write out.
var codeRunners = set(`
	python pypy ipython pdb ipdb pudb cython jython perl ruby irb jruby node nodejs deno bun tsx ts-node php lua luajit tclsh jimsh wish expect guile rscript r julia
	ghci ghc runghc runhaskell scala scala-cli groovy java javac jshell jrunscript jjs kotlin kotlinc clojure clj bb erl escript iex elixir mix racket sbcl clisp ecl
	ocaml swipl gprolog raku crystal nim dart swift awk gawk mawk nawk original-awk sed gsed ed red ex vi vim view vimdiff rvim rview nvim emacs nano pico rnano joe
	micro helix hx kak vigr vipw less more most pg man info yelp m4 gm4 bc dc gnuplot octave sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli gdb lldb rr
	valgrind strace ltrace perf bpftrace stap dtrace scanmem make gmake bmake cmake ctest ninja meson scons bazel buck just task rake npm npx pnpm pnpx yarn yarnpkg
	corepack pip pipx uv uvx poetry conda gem bundle bundler cargo rustc go gofmt gcc g++ cc c++ c89 c99 clang clang++ ld as tcc nasm distcc ccache sccache mvn gradle ant sbt
	lein cabal stack dotnet msbuild nuget composer artisan rails django-admin ansible ansible-playbook puppet chef salt facter terraform tofu packer vagrant helm
	kubectl oc docker podman nerdctl ctr crictl runc buildah skopeo lxc lxd machinectl systemd-run systemd-nspawn systemctl service ssh scp sftp sshfs sshpass
	ssh-agent ssh-keygen ssh-keyscan rsync rclone curl wget aria2c lftp ftp tftp telnet nc ncat netcat socat openssl openvpn nmap hping3 tcpdump tshark sqlmap
	msfconsole git hg svn bzr fossil darcs cvs gh glab sudo doas su sg newgrp runuser pkexec chroot unshare nsenter setpriv capsh setarch linux32 linux64 i386 x86_64
	chrt taskset numactl cgexec prlimit choom uclampset softlimit cpulimit flock logsave watch multitime entr parallel script screen tmux tmate byobu dtach abduco
	at atd batch crontab run-parts start-stop-daemon daemon unbuffer rlwrap faketime proxychains torsocks genie fakeroot firejail bwrap proot dbus-run-session
	dbus-launch xvfb-run catchsegv ld.so ldd ldconfig gpg gpg-agent pinentry dpkg apt apt-get apt-cache aptitude rpm rpmbuild rpmdb dnf yum apk pacman zypper opkg pkg snap
	flatpak brew port nix nix-shell nix-build guix tar bsdtar cpio zip unzip 7z 7za rar ar pax rg fd fdfind ag ack fzf find locate bat batcat delta tee dd cp mv ln
	install split csplit sponge vipe exiftool ffmpeg convert magick identify gs latex pdflatex xelatex lualatex tex pandoc groff troff nroff soelim pic asciidoctor
	hugo jekyll jq yq dasel xmllint xsltproc xmlstarlet logrotate mail mailx sendmail mutt w3m lynx links elinks tic run-mailcap see xdg-open open osascript wsl cmd
	restic borg rsnapshot duplicity aspell ispell cscope ctags pg_dump chattr setfacl debugfs fsck mount umount losetup dmsetup kexec insmod modprobe depmod esbuild
	vite webpack jest vitest mocha eslint prettier pytest tox nox invoke fab celery gunicorn uvicorn flask jupyter journalctl loginctl hostnamectl timedatectl busctl
	ip tc iptables nft ifconfig nm xdotool zathura rtorrent tasksh slsh crash cowsay cowthink cobc espeak ginsh gcore dialog whiptail update-alternatives wall
	duckdb smbclient usql pgcli mycli litecli sqlplus beeline pyspark spark-sql spark-shell spark-submit maxima cqlsh clickhouse clickhouse-client clickhouse-local isql sqlcmd snowsql
	sudo-rs run0 bunx uvw hyperfine chronic ifne pee systemd-inhibit systemd-cat gosu su-exec tini dumb-init watchexec nodemon caffeinate eatmydata concurrently npm-run-all run-s run-p
	cross-env dotenv dotenvx direnv mise rtx asdf nvm fnm volta pyenv rbenv doppler chamber aws-vault envchain teller infisical op autossh mosh ssh-copy-id dbclient rsh rlogin
	retry timelimit rush foreman overmind hivemind honcho goreman pm2 forever supervisord supervisorctl distrobox toolbox enroot apptainer singularity lima limactl colima act wine
	heaptrack uftrace samply cgdb gdbserver wasmtime wasmer wasmedge git-shell tig lazygit hub git-lfs git-gui gitk gitui git-cola stg jj sl sapling pre-commit lefthook husky
	lint-staged commitlint mypy dmypy pylint flake8 pyflakes bandit pyright isort rubocop standardrb brakeman rspec minitest cucumber phpunit phpstan psalm pest phpcs php-cs-fixer
	gulp grunt turbo nx lerna tsc tsup swc babel rollup parcel next nuxt astro storybook playwright cypress wdio karma jasmine ava tap c8 nyc ts-mocha esno zx stylelint markdownlint
	biome oxlint golangci-lint staticcheck goimports govulncheck goreleaser ko air mage dlv buf protoc zig dune opam mill rebar rebar3 bazelisk pants please waf autoconf automake autoreconf
	libtool configure swiftc xcodebuild xcrun fastlane pod carthage flutter fvm pipenv pdm hatch rye pixi mamba micromamba coverage nosetests pytest-3 behave robot locust sphinx-build mkdocs
	papermill ipython streamlit gradio alembic manage.py scrapy luigi dbt dagster airflow prefect dvc mlflow capistrano hanami sidekiq puma thor guard middleman bridgetown pulumi cdk
	wrangler serverless sam skaffold tilt devspace helmfile helmwave kustomize k9s kubectx kubens stern flux argocd eksctl nomad consul vault sops terragrunt terraform-docs cdktf opentofu
	step cosign coursier amm jbang elm purs spago gleam roc vala nimble shards ponyc janet pike gosh csi mc ranger nnn lf vifm ncdu neomutt alpine watchman inotifywait fswatch reflex
	modd incron screenfetch neofetch newsboat surfraw w3mman mlr miller gcloud gsutil aws az psftp plink eval exec source alias enable trap coproc builtin hash mapfile readarray busybox toybox
`)

func set(names string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		m[name] = true
	}
	return m
}

// readers only read and print, whatever their arguments.
var readers = set(`
	cat tac ls dir vdir head tail wc nl cut tr paste join comm fold fmt expand unexpand rev seq basename dirname realpath readlink stat du df od hexdump strings
	md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum grep egrep fgrep diff cmp id whoami who w groups users uname uptime nproc tty
	printenv echo printf test [ expr factor numfmt tsort sleep which whereis free ps pgrep pidof vmstat column cal getconf locale getent logname pathchk
	lscpu lsblk lsmem lsns lsipc readelf true false yes colrm pwd
`)

// doers do no more than their words say, which may be to write or to remove: they run nothing and take no commands.
var doers = set(`
	mkdir rmdir rm unlink touch truncate shred chmod chown chgrp link mktemp mkfifo mknod fallocate sync lsattr getfacl getfattr namei kill killall pkill pidwait pstree fuser lsof
	ping ping6 traceroute tracepath dig host whois netstat arp iostat mpstat pidstat lsmod lspci lsusb last lastlog locale clear tput look pr pv ts iconv uconv dos2unix unix2dos
	bzip bunzip gunzip unxz zstd unzstd lz lz4 lzma brotli zipinfo shasum b3sum crc32 uuidgen base basenc uuencode uudecode eza exa lsd tokei scc hexyl gron jo figlet
	shfmt clang-format ruff black yamllint hadolint taplo typos codespell sw_vers mdls mdfind pbcopy pbpaste
`)

var profiles = map[string]*profile{}

// read is a profile with these options.
func read(options string) *profile { return &profile{options: readOptions(options)} }

func init() {
	for name := range readers {
		profiles[name] = &profile{all: true}
	}
	profiles["env"] = &profile{options: readOptions("0 --null"), operands: 0, check: noOperands}
	profiles["find"] = &profile{words: func(args []word) error { _, err := findCommands(args); return err }}
	profiles["sort"] = read("bdfghiMnRrVcCmsuz k: t: S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --month-sort --numeric-sort --random-sort --reverse --sort= --version-sort --check? --key= --merge --field-separator= --stable --unique --zero-terminated --parallel= --debug")
	profiles["uniq"] = &profile{options: readOptions("cdDiuz f: s: w: # --count --repeated --all-repeated? --skip-fields= --ignore-case --skip-chars= --unique --zero-terminated --check-chars= --group?"), operands: 1}
	profiles["date"] = &profile{options: readOptions("uR I? d: r: --utc --universal --rfc-email --iso-8601? --date= --reference= --rfc-3339="), operands: 1, check: dateFormat}
	profiles["file"] = read("bhiLkNnrsS0vE F: m: e: P: --brief --mime --mime-type --mime-encoding --dereference --keep-going --no-pad --raw --special-files --print0 --separator= --extension")
	profiles["tree"] = read("adfilxLCnNqQpsughDFvrtcUSAX L: P: I: --noreport --dirsfirst --filelimit= --charset= --du --si --prune --inodes --device --sort= --gitignore --matchdirs --ignore-case")
	profiles["rg"] = read("abcFhHiIlLnNoPqsSuUvVwxz0p. A: B: C: e: f: g: m: M: r: t: T: j: E: d: " +
		"--files --after-context= --before-context= --context= --regexp= --file= --glob= --iglob= --max-count= --max-columns= --replace= --type= --type-not= --threads= --encoding= --max-depth= --max-filesize= --sort= --sortr= --color= --colors= " +
		"--count --count-matches --fixed-strings --no-filename --with-filename --ignore-case --files-with-matches --files-without-match --follow --line-number --no-line-number --only-matching --pcre2 --quiet --smart-case --case-sensitive --unrestricted --multiline --multiline-dotall --invert-match --word-regexp --line-regexp --null --pretty --hidden --no-hidden --no-ignore --no-ignore-vcs --no-heading --heading --column --vimgrep --json --stats --trim --text --type-list --no-messages --no-config --crlf --passthru --one-file-system --version --help")
	delete(profiles["rg"].options.short, 'z')
	profiles["fd"] = read("HIusgFapl0L1 i d: t: e: E: S: c: --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --full-path --follow --print0 --max-depth= --min-depth= --exact-depth= --type= --extension= --exclude= --size= --changed-within= --changed-before= --owner= --color= --max-results= --prune --quiet --version --help")
	delete(profiles["fd"].options.short, 'l')
	profiles["fdfind"] = profiles["fd"]
	profiles["jq"] = &profile{options: readOptions("csSrjaenRCMV --compact-output --slurp --sort-keys --raw-output --join-output --ascii-output --exit-status --null-input --raw-input --color-output --monochrome-output --tab --indent= --stream --seq --version --arg --argjson --args --jsonargs")}
	profiles["hostname"] = &profile{options: readOptions("fsidIA --fqdn --short --long --ip-address --all-ip-addresses --all-fqdns --domain"), check: noOperands}
	profiles["xxd"] = &profile{options: readOptions("bEipu c: g: l: o: s:"), operands: 1}
	// A plugin of nm or size is code, zstdcat can write and remove files, and arch of macOS runs a program.
	profiles["nm"] = &profile{options: readOptions("aABCDefgjlnopPrsSuUvVX t: T: --debug-syms --print-file-name --demangle? --dynamic --extern-only --line-numbers --numeric-sort --no-sort --portability --print-armap --print-size --reverse-sort --size-sort --undefined-only --defined-only --format= --radix="), check: noResponseFile}
	profiles["size"] = &profile{options: readOptions("ABGdoxt --format= --radix= --totals --common"), check: noResponseFile}
	profiles["arch"] = &profile{options: readOptions(""), check: noOperands}
	profiles["base64"] = read("di w: --decode --ignore-garbage --wrap=")
	profiles["base32"] = profiles["base64"]
	for _, name := range []string{"zcat", "bzcat", "xzcat", "zstdcat"} {
		profiles[name] = read("fqv")
	}
	profiles["shuf"] = read("erz i: n: --echo --input-range= --head-count= --repeat --zero-terminated")
}

// noResponseFile refuses @file, which stands for options.
func noResponseFile(args []word) error {
	for _, a := range args {
		if a.open || strings.HasPrefix(a.text, "@") {
			return fmt.Errorf("%s may stand for options", a.text)
		}
	}
	return nil
}

// commandReaders take commands from their input.
var commandReaders = set(`
	python pypy ipython perl ruby irb jruby node nodejs deno bun php lua luajit tclsh wish expect guile rscript r julia ghci scala groovy jshell clojure clj bb erl iex elixir racket
	sbcl clisp ecl ocaml swipl gprolog raku dc bc gnuplot octave sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli gdb lldb ed red ex vi vim view nvim emacs m4 awk gawk mawk nawk
	duckdb smbclient usql pgcli mycli litecli iredis vsql sqlplus beeline hive impala-shell spark-sql spark-shell pyspark sparkr trino presto sqlcmd mssql-cli tsql isql iusql isql-fb
	snowsql clickhouse clickhouse-client clickhouse-local cqlsh ysqlsh ycqlsh cockroach influx tarantool cypher-shell gremlin redli valkey-cli keydb-cli firebird db2 ij
	maxima sage sagemath gp gap magma yacas giac axiom fricas scilab scilab-cli matlab mathematica wolframscript wolfram octave-cli gdb-multiarch cgdb jdb dlv radare2 r2 rizin drgn
	bpython ptpython ptipython janet gosh csi mit-scheme chez petite pike raku perl6 amm evcxr jbang utop fsharpi dotnet-fsi csharp ncftp cadaver yafc rpcclient psftp plink dbclient
	mosh autossh rsh rlogin minicom picocom cu tig ranger nnn lf vifm mc mutt neomutt alpine
	at batch ssh sftp ftp lftp telnet nc ncat netcat socat slsh pdb rc less more most man debugfs wall dialog mail mailx
`)

package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// forbiddenVariables change which code a program runs, or where it looks for it.
var forbiddenVariables = map[string]bool{}

// forbiddenPrefixes are prefixes of names that are all forbidden.
var forbiddenPrefixes = []string{
	"LD_", "DYLD_", "GIT_", "PYTHON", "PERL5", "RUBY", "BASH_FUNC_", "NPM_CONFIG_", "CARGO_", "RUST", "PIP_", "BUNDLE_", "GEM_",
	"LUA_", "JULIA_", "DOTNET_", "COR_", "CORECLR_", "MALLOC_", "SSH_", "SVN_", "HG", "DOCKER_", "KUBE", "GCONV", "GLIBC_", "XDG_",
	"OPENSSL_", "ANSIBLE_", "MAKE", "R_", "ERL_", "ELIXIR_", "QUOIN", "UV_", "POETRY_", "YARN_", "DENO_", "BUN_", "GRADLE_", "MAVEN_", "SBT_",
}

func init() {
	for name := range strings.FieldsSeq(`
		PATH HOME SHELL IFS ENV BASH_ENV BASHOPTS SHELLOPTS PS0 PS1 PS2 PS4 PROMPT_COMMAND CDPATH GLOBIGNORE
		ZDOTDIR FPATH POSIXLY_CORRECT BASH_XTRACEFD BASH_LOADABLES_PATH BASH_COMPAT EXECIGNORE HISTFILE INPUTRC MAIL MAILPATH MAILCHECK
		PAGER MANPAGER LESS LESSOPEN LESSCLOSE LESSKEY LESSEDIT MORE MOST EDITOR VISUAL BROWSER FCEDIT SUDO_ASKPASS SUDO_EDITOR
		NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS ELECTRON_RUN_AS_NODE PERLLIB PERLIO
		JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_HOME JAVA_OPTS CLASSPATH PHPRC PHP_INI_SCAN_DIR TCLLIBPATH GUILE_LOAD_PATH
		GOFLAGS GOROOT GOPATH GOENV GOTOOLCHAIN GOPROXY GONOSUMDB GONOSUMCHECK GONOSUMDB GOINSECURE GOCACHEPROG GOAUTH GOPACKAGESDRIVER GCCGO
		CC CXX CPP AR AS LD FC CFLAGS CXXFLAGS CPPFLAGS LDFLAGS GCC_EXEC_PREFIX COMPILER_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH PKG_CONFIG PKG_CONFIG_PATH
		MFLAGS CMAKE_TOOLCHAIN_FILE LOCPATH NLSPATH TERMINFO TERMINFO_DIRS TERMCAP TMPDIR TMP TEMP RESOLV_HOST_CONF HOSTALIASES LOCALDOMAIN RES_OPTIONS GETCONF_DIR TZDIR
		TAR_OPTIONS GREP_OPTIONS GREP_COLOR RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS BAT_PAGER BAT_CONFIG_PATH DELTA_PAGER GH_PAGER GH_EDITOR GH_BROWSER
		GZIP BZIP BZIP2 XZ_OPT XZ_DEFAULTS ZSTD_CLEVEL ZIPOPT UNZIP UNZIPOPT ZIPINFO TAPE RSYNC_RSH CVS_RSH RSH WGETRC CURL_HOME CURL_SSL_BACKEND SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE
		HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY PSQLRC PSQL_PAGER PSQL_EDITOR PGSERVICEFILE PGPASSFILE MYSQL_HOME SQLITE_HISTORY
		GDK_PIXBUF_MODULE_FILE GTK_MODULES GTK_PATH QT_PLUGIN_PATH QML_IMPORT_PATH GIO_EXTRA_MODULES GST_PLUGIN_PATH VIMINIT EXINIT MYVIMRC VIM VIMRUNTIME NVIM_APPNAME EMACSLOADPATH
		GNUPGHOME GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DISPLAY NIX_PATH AWKPATH AWKLIBPATH GAWKDEBUG M4PATH TEXINPUTS BIBINPUTS
		MANPATH MANOPT GROFF_COMMAND_PREFIX GROFF_FONT_PATH WATCH_INTERVAL SYSTEMD_PAGER SYSTEMD_EDITOR SYSTEMD_LESS OCAMLRUNPARAM HASKELL_DIST_DIR MIX_EXS RUSTC_WRAPPER JQ_LIBRARY_PATH
	`) {
		forbiddenVariables[name] = true
	}
}

// maxEnvironment bounds the variables that a caller sets.
const maxEnvironment = 64

// CheckEnv returns an error for variables that a caller must not set for a command: such
// a variable would run code that the person who allows the command does not see.
func CheckEnv(env map[string]string) error {
	if len(env) > maxEnvironment {
		return fmt.Errorf("there are %d variables, more than %d", len(env), maxEnvironment)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case !variableName(name):
			return fmt.Errorf("%q is not the name of a variable: use letters, digits and _", name)
		case len(env[name]) > 4<<10, strings.ContainsRune(env[name], 0):
			return fmt.Errorf("the value of %s is not a text of at most %d bytes without NUL", name, 4<<10)
		case forbiddenVariable(name):
			return fmt.Errorf("the variable %s can make a program run other code: put it in plugins.shell.env if every command needs it", name)
		}
	}
	return nil
}

func variableName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 128
}

func forbiddenVariable(name string) bool {
	name = strings.ToUpper(name)
	if forbiddenVariables[name] {
		return true
	}
	for _, prefix := range forbiddenPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, suffix := range []string{"_PRELOAD", "_OPTIONS", "_PAGER", "_EDITOR", "_LIBRARY_PATH", "_ASKPASS", "_SHELL", "_COMMAND", "_WRAPPER", "_PATH", "_OPTS", "_HOME", "_CONFIG", "_PROXY"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// harmlessVariable reports whether a command that is allowed stays so with a variable.
func harmlessVariable(name, value string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS", "LINES", "CI", "BLOCK_SIZE", "BLOCKSIZE", "TIME_STYLE", "QUOTING_STYLE",
		"GOOS", "GOARCH", "CGO_ENABLED":
	default:
		if !strings.HasPrefix(name, "LC_") || !variableName(name) {
			return false
		}
	}
	if strings.HasPrefix(value, "/") || strings.Contains(value, "..") {
		return false
	}
	return strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,@%+=-/") == ""
}

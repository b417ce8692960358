package plugins

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// Limits of secrets. A shorter one could not be kept out of messages: it would be
// found in every other word.
const (
	minSecretBytes = 4
	maxSecretBytes = 64 << 10
	maxSecrets     = 64 // of one plugin
)

// SecretSource returns a secret. It is asked before each start of the plugin, so that
// a secret may change while the host runs. Its error must not contain the secret.
type SecretSource func() (string, error)

// EnvSecret is the variable of that name in the host's environment.
func EnvSecret(name string) SecretSource {
	return func() (string, error) {
		value, ok := os.LookupEnv(name)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
		return value, nil
	}
}

// FileSecret is the content of a file, without the line end that editors leave. A file that
// other users can use or own is refused.
func FileSecret(path string) SecretSource {
	return func() (string, error) {
		b, err := durable.ReadPrivate(path, maxSecretBytes+2)
		return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), err
	}
}

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseSecretSource reads "env:NAME" or "file:/absolute/path". Its error does not
// repeat the text: by mistake it may be the secret itself.
func ParseSecretSource(text string) (SecretSource, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case kind == "env" && variablePattern.MatchString(rest):
		return EnvSecret(rest), nil
	case kind == "file" && filepath.IsAbs(rest):
		return FileSecret(rest), nil
	}
	return nil, errors.New(`"env:NAME", a variable of the host's environment, or "file:/path", a file with nothing but the secret`)
}

// secretName is what a secret may be called.
var secretName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// CheckSecretName says what a secret may be called; nil if name is that.
func CheckSecretName(name string) error {
	if secretName.MatchString(name) {
		return nil
	}
	return errors.New("a letter, then up to 63 letters, digits, '_', '.' and '-'")
}

// readSecrets asks for the secrets of a plugin. Its error names every one that
// cannot be had, and does not contain a secret.
func readSecrets(sources map[string]SecretSource, m manifest.Manifest) (map[string]string, error) {
	switch {
	case len(sources) == 0:
		return nil, nil
	case m.Protocol < 2:
		return nil, fmt.Errorf("secrets are configured for it, but it is run with protocol version %d, which has none; rebuild it with a current sdk and write \"protocol\": 2 into its %s", m.Protocol, manifest.Name)
	case len(sources) > maxSecrets:
		return nil, fmt.Errorf("%d secrets are configured for it; the limit is %d", len(sources), maxSecrets)
	}
	secrets := make(map[string]string, len(sources))
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		value, err := sources[name]()
		if err == nil {
			err = checkSecret(name, value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("its secret %q cannot be had: %w", name, err))
		}
		secrets[name] = value
	}
	return secrets, errors.Join(errs...)
}

func checkSecret(name, value string) error {
	if err := CheckSecretName(name); err != nil {
		return fmt.Errorf("a secret's name is %w", err)
	}
	switch {
	case len(value) < minSecretBytes:
		return fmt.Errorf("it has %d bytes; a secret has at least %d, or it could not be kept out of messages", len(value), minSecretBytes)
	case len(value) > maxSecretBytes:
		return fmt.Errorf("it has more than %d bytes", maxSecretBytes)
	case !utf8.ValidString(value):
		return errors.New("it is not text in UTF-8")
	}
	return nil
}

package redact

import (
	"encoding/json"
	"strings"
	"unicode"
)

// words that make a name secret wherever they stand in it.
var words = set("password", "passwords", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets", "credential", "credentials",
	"creds", "cookie", "cookies", "authorization", "jwt", "otp", "totp", "cvv", "cvc", "bearer")

// pairs make a name secret when one word follows the other.
var pairs = set("api key", "api keys", "access key", "private key", "secret key", "signing key", "encryption key", "master key",
	"session id", "session key", "account key", "auth key", "ssh key", "host key", "connection string", "recovery code", "recovery codes", "backup codes", "card number")

// wholes are names that are secret only when there is nothing else to them.
var wholes = set("pass", "pin", "auth", "ssn", "dsn", "session", "dbpass")

// joined are parts of names that are written without separators.
var joined = []string{"password", "passwd", "apikey", "accesskey", "privatekey", "secretkey", "authtoken", "accesstoken",
	"refreshtoken", "idtoken", "sessiontoken", "clientsecret", "xauth"}

// set makes a set of names.
func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// secretName reports whether a property of that name and value holds a secret. A
// number is no token but a count of some.
//
// It errs towards hiding: a harmless value under a suspicious name is lost from a
// record, while a secret under a harmless one would stay.
func (r Redactor) secretName(name string, value any) bool {
	parts := split(name)
	whole := strings.Join(parts, "")
	if whole == "" {
		return false
	}
	for _, k := range r.Keys {
		if strings.Join(split(k), "") == whole {
			return true
		}
	}
	if wholes[whole] {
		return true
	}
	for _, j := range joined {
		if strings.Contains(whole, j) {
			return true
		}
	}
	for i, w := range parts {
		if words[w] || i > 0 && pairs[parts[i-1]+" "+w] {
			return true
		}
	}
	last := parts[len(parts)-1]
	_, number := value.(json.Number)
	return last == "token" || last == "tokens" && !number
}

// split takes a name apart at case changes and at whatever is neither letter nor
// digit: APIKey, api_key and api-key are all "api", "key".
func split(name string) []string {
	var parts []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			parts = append(parts, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	all := []rune(name)
	for i, c := range all {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			end()
			continue
		case unicode.IsUpper(c) && i > 0:
			lowerBefore := unicode.IsLower(all[i-1]) || unicode.IsDigit(all[i-1])
			lowerAfter := i+1 < len(all) && unicode.IsLower(all[i+1])
			if lowerBefore || unicode.IsUpper(all[i-1]) && lowerAfter {
				end()
			}
		}
		word = append(word, c)
	}
	end()
	return parts
}

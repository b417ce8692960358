package redact

import "regexp"

// Shapes of credentials inside text. Each pattern keeps its first group and hides
// the rest of the match.
var shapes = []*regexp.Regexp{
	regexp.MustCompile(`(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----)[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`),
	regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`()\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`()\bgh[opsur]_[A-Za-z0-9]{16,}`),
	regexp.MustCompile(`()\bgithub_pat_[A-Za-z0-9_]{16,}`),
	regexp.MustCompile(`()\bxox[abeoprs]-[A-Za-z0-9-]{8,}`),
	regexp.MustCompile(`()\b(?:AKIA|ASIA)[A-Z0-9]{12,}`),
	regexp.MustCompile(`()\bAIza[A-Za-z0-9_-]{30,}`),
	regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"']*:)[^\s/@"']+(@)`),
	regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|token)["'` + "`" + `]?\s{0,4}[=:]\s{0,4}["'` + "`" + `]?)[^\s"'` + "`" + `,;&(){}[\]]{3,}`),
}

// Short names of secrets in programs and command lines, also behind others, as in
// DB_PASS=.
func init() {
	const name = `(?:secret[_-]?key|pwd|pass|auth|cookie|credentials?|bearer|pin|otp|session(?:[_-]?id)?)`
	const end = "[\"'`]?\\s{0,4}[=:]\\s{0,4}[\"'`]?"
	shapes = append(shapes,
		regexp.MustCompile("(?i)(\\b(?:[a-z0-9]+[_-])*"+name+end+")[^\\s\"'`,;&(){}[\\]]{3,}"),
		regexp.MustCompile(`(\bmysql(?:dump|admin)?\b[^\n|;]*?\s-p)[^\s"';|]+`),
		regexp.MustCompile(`(?i)(\baws[^\n]{0,40}?["'\s=:])[A-Za-z0-9/+]{40}\b`))
}

// maskText hides the credentials it can recognise.
//
// Its patterns run in linear time in the length of s.
func maskText(s string) string {
	for _, re := range shapes {
		s = re.ReplaceAllString(s, "${1}"+Mask+"${2}")
	}
	return s
}

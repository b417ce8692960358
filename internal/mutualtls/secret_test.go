package mutualtls

import (
	"bytes"
	"testing"
)

// TestFromSecret makes one identity of a secret and a purpose, and takes no short secret.
func TestFromSecret(t *testing.T) {
	secret, other := bytes.Repeat([]byte("a"), MinSecret), bytes.Repeat([]byte("b"), MinSecret)
	fingerprint := func(secret []byte, purpose string) Fingerprint {
		id, err := FromSecret(secret, purpose)
		if err != nil {
			t.Fatal(err)
		}
		return id.Fingerprint()
	}
	if first, again := fingerprint(secret, "one"), fingerprint(secret, "one"); first != again {
		t.Error("a secret has two identities for one purpose")
	}
	if fingerprint(secret, "one") == fingerprint(secret, "two") || fingerprint(secret, "one") == fingerprint(other, "one") {
		t.Error("two purposes or secrets have one identity")
	}
	if _, err := FromSecret(secret[1:], "one"); err == nil {
		t.Error("a secret of 31 bytes was taken")
	}
}

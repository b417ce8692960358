package main

import "testing"

// The mirror of the machine counts, and not the archive of its security updates.
func TestMirror(t *testing.T) {
	const archives = "https://mirror.example.com/debian-security/\nhttps://mirror.example.com/debian/\n"
	if got, err := mirrorIn(archives); err != nil || got != "https://mirror.example.com/debian/" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := mirrorIn("https://mirror.example.com/ubuntu/\n"); err == nil {
		t.Error("an archive of another system is taken for Debian's")
	}
	t.Setenv(envMirror, "https://example.com/d")
	if got, err := mirror(); err != nil || got != "https://example.com/d" {
		t.Errorf("%q, %v", got, err)
	}
}

package configfile

import (
	"strings"
	"testing"
)

// TestCluster takes what makes a cluster, and says what is missing elsewhere.
func TestCluster(t *testing.T) {
	t.Setenv("CLUSTER_SECRET", "0123456789abcdef0123456789abcdef")
	f, err := LoadFile(write(t, `{cluster: {listen: ":7443", advertise: "a.example.com:7443", secret: "env:CLUSTER_SECRET"}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := f.Config().Cluster
	if secret, err := c.Secret(); err != nil || len(secret) != 32 || c.Listen != ":7443" || c.Advertise != "a.example.com:7443" {
		t.Errorf("the cluster is %+v, its secret %q, %v", c, secret, err)
	}
	for text, want := range map[string]string{
		`{listen: ":7443"}`:                            "expected cluster.secret, or certFile, keyFile and caFile",
		`{listen: "7443"}`:                             "an address and a port",
		`{secret: "0123456789abcdef0123456789abcdef"}`: "what it is now is not shown",
		`{secret: "env:CLUSTER_SECRET", certFile: "c", keyFile: "k", caFile: "a"}`: "expected one of them",
		`{certFile: "c", keyFile: "k"}`:                                            "expected all three",
	} {
		_, err := LoadFile(write(t, `{cluster: `+text+`}`))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

package configfile

import (
	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/plugins"
)

// clusterFields returns the fields of the hosts that share a database.
func (f *File) clusterFields() []config.Field {
	c := &f.Cluster
	return []config.Field{
		config.Text("listen", &c.Listen, "Address and port at which `quoin serve` answers the other hosts. Without it a run that it holds is busy for them.").Check(checkClusterListen),
		config.Text("advertise", &c.Advertise, "Host and port at which the others reach this host. Without it: `listen`, which then must name a host."),
		config.Text("secret", &f.clusterSecret, "Where the secret is that all hosts share: `env:NAME` or `file:/path`. It has 32 bytes or more, such as the output of `openssl rand -hex 32`."),
		config.Text("certFile", &c.CertFile, "The certificate of this host, for servers and clients, as PEM, in the place of `secret`. It names the host in `advertise`."),
		config.Text("keyFile", &c.KeyFile, "The key of `certFile`, as PEM."),
		config.Text("caFile", &c.CAFile, "The authority that has signed the certificates of all hosts, as PEM."),
	}
}

// checkClusterListen takes an address to listen to, or nothing.
func checkClusterListen(address string) error {
	if address == "" {
		return nil
	}
	return checkListen(address)
}

// checkCluster makes the source of the secret, and reports what the fields one by one do
// not show.
func (f *File) checkCluster(path string) error {
	c := &f.Cluster
	var problems []config.Problem
	if f.clusterSecret != "" {
		source, err := plugins.ParseSecretSource(f.clusterSecret)
		if err != nil {
			problems = append(problems, f.secretProblem(path, "cluster.secret", err))
		}
		c.Secret = source
	}
	files := c.CertFile + c.KeyFile + c.CAFile
	switch given := f.clusterSecret != ""; {
	case given && files != "":
		problems = append(problems, f.problemAt(path, "cluster.secret", "is given next to certificates; expected one of them"))
	case files != "" && (c.CertFile == "" || c.KeyFile == "" || c.CAFile == ""):
		problems = append(problems, f.problemAt(path, "cluster.certFile", "certFile, keyFile and caFile belong together; expected all three"))
	case !given && files == "" && c.Listen+c.Advertise != "":
		problems = append(problems, f.problemAt(path, "cluster.listen", "needs what proves this host to the others; expected cluster.secret, or certFile, keyFile and caFile"))
	}
	if len(problems) > 0 {
		return &Error{Problems: problems}
	}
	return nil
}

package postgrestest

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// user is the superuser of every server.
const user = "quoin"

// Options are how a server differs from one that a test wants. The zero value is
// fast and forgets its last seconds if the machine itself stops.
type Options struct {
	// Durable waits for the disk at each commit, as in production.
	Durable bool
	// Listen is where the server listens, next to its socket; 127.0.0.1 when empty.
	Listen []string
	// Settings are lines of postgresql.conf.
	Settings map[string]string
	// Mount gives the empty data folder of the server, and of each standby, a file
	// system of its own. What it returns takes that away again. Nil: none.
	Mount func(folder string) (unmount func() error, err error)
}

// Server is a private PostgreSQL server. What runs is never another one's: it is
// found by the data directory.
type Server struct {
	data     string
	unmount  func() error // nil: the data are on the disk of the machine
	port     int
	options  Options
	password string
}

// New makes a server and starts it. Remove ends it.
func New(o Options) (*Server, error) {
	f, err := process()
	if err != nil {
		return nil, err
	}
	s, err := f.server(o)
	if err != nil {
		return nil, err
	}
	if err := copyFolder(f.template, s.data); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	settings := map[string]string{"max_connections": "500", "log_min_messages": "error"}
	if !o.Durable {
		maps.Copy(settings, map[string]string{"fsync": "off", "full_page_writes": "off"})
	}
	maps.Copy(settings, o.Settings)
	if err := s.configure(settings); err != nil {
		return nil, err
	}
	return s, s.Start()
}

// server returns one that has an empty folder and an address.
func (f *folder) server(o Options) (*Server, error) {
	// A name that is short, because of the socket, and that is no other server's.
	data, err := os.MkdirTemp(f.path, "s")
	if err != nil {
		return nil, err
	}
	if len(o.Listen) == 0 {
		o.Listen = []string{"127.0.0.1"}
	}
	s := &Server{data: data, options: o, password: f.password}
	if o.Mount != nil {
		if s.unmount, err = o.Mount(data); err != nil {
			return nil, errors.Join(err, os.Remove(data))
		}
	}
	return s, giveAway(data)
}

// configure adds lines to postgresql.conf. The last line of a name counts.
func (s *Server) configure(settings map[string]string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}
	return appendTo(filepath.Join(s.data, "postgresql.conf"), text.String())
}

// Set changes a setting of a server that runs and makes it read its file again.
func (s *Server) Set(name, value string) error {
	if err := s.configure(map[string]string{name: value}); err != nil {
		return err
	}
	return run("pg_ctl", "reload", "-s", "-D", s.data)
}

// attempts are how often a server looks for a port, which another process may take
// between the look and the start.
const attempts = 5

// Start starts a server that was stopped, on the address it had, and waits until it
// answers. A new server gets an address.
func (s *Server) Start() error {
	if s.port != 0 {
		return s.start()
	}
	var errs []error
	for range attempts {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		err = s.configure(map[string]string{
			"port":                    strconv.Itoa(port),
			"listen_addresses":        strings.Join(s.options.Listen, ","),
			"unix_socket_directories": s.data,
		})
		if err != nil {
			return err
		}
		if err = s.start(); err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Server) start() error {
	log := filepath.Join(s.data, "server.log")
	err := run("pg_ctl", "start", "-s", "-w", "-t", "120", "-D", s.data, "-l", log)
	if err != nil {
		text, _ := os.ReadFile(log) // the server's own words, if it had any
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// A Mode is how a server stops.
type Mode string

const (
	Fast      Mode = "fast"      // it ends connections and writes what it has
	Immediate Mode = "immediate" // it ends as by a crash and recovers at the next start
)

// Stop stops a server and returns when its process has ended.
func (s *Server) Stop(m Mode) error {
	return run("pg_ctl", "stop", "-s", "-w", "-t", "120", "-D", s.data, "-m", string(m))
}

// Restart stops a server and starts it on the same address.
func (s *Server) Restart(m Mode) error {
	return errors.Join(s.Stop(m), s.Start())
}

// Remove stops a server, if it runs, and removes its data.
func (s *Server) Remove() error {
	if _, err := s.PID(); err == nil {
		if err := s.Stop(Immediate); err != nil {
			return err
		}
	}
	if s.unmount != nil {
		if err := s.unmount(); err != nil {
			return err
		}
		s.unmount = nil
	}
	return os.RemoveAll(s.data)
}

// Running reports whether the server's first process runs, whether or not it answers.
func (s *Server) Running() bool { return run("pg_ctl", "status", "-D", s.data) == nil }

// PID returns the number of the server's first process.
func (s *Server) PID() (int, error) {
	text, err := os.ReadFile(filepath.Join(s.data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// Standby starts a server that follows this one by streaming and answers queries.
// Its name is what synchronous_standby_names takes. This server keeps what the standby
// has not read yet, so that one that was away, or slow, can always follow again.
func (s *Server) Standby(name string) (*Server, error) {
	f, err := process()
	if err != nil {
		return nil, err
	}
	standby, err := f.server(s.options)
	if err != nil {
		return nil, err
	}
	source := fmt.Sprintf("host=%s port=%d user=%s application_name=%s", s.data, s.port, user, name)
	err = run("pg_basebackup", "-D", standby.data, "-d", source, "-X", "stream", "-c", "fast", "-R", "--no-sync",
		"-C", "-S", name)
	if err != nil {
		return nil, err
	}
	return standby, standby.Start()
}

// Promote makes a standby a server that takes writes.
func (s *Server) Promote() error {
	return run("pg_ctl", "promote", "-s", "-w", "-t", "120", "-D", s.data)
}

// CreateDatabase makes an empty database. A name that exists is an error.
func (s *Server) CreateDatabase(name string) error { return s.createDatabase(name, "template1") }

func (s *Server) createDatabase(name, from string) error {
	return run("createdb", "-h", s.data, "-p", strconv.Itoa(s.port), "-U", user, "-T", from, name)
}

// DropDatabase removes a database and ends the connections to it.
func (s *Server) DropDatabase(name string) error {
	return run("dropdb", "--force", "-h", s.data, "-p", strconv.Itoa(s.port), "-U", user, name)
}

// URL is where a database of the server is, by its Unix socket.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", Path: "/" + database}
	u.RawQuery = url.Values{
		"host": {s.data}, "port": {strconv.Itoa(s.port)}, "user": {user}, "password": {s.password},
	}.Encode()
	return u.String()
}

// NetworkURL is where a database of the server is, by the host and port of an address
// that leads to it: its own, or a proxy's.
func (s *Server) NetworkURL(address, database string) string {
	u := url.URL{
		Scheme: "postgres", Path: "/" + database, User: url.UserPassword(user, s.password),
		Host: address, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Address is where the server listens, next to its socket.
func (s *Server) Address() string { return net.JoinHostPort(s.options.Listen[0], strconv.Itoa(s.port)) }

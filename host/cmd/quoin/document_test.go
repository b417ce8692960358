package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// example is a block of commands and, where there is one, of what they print.
var example = regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:```json\n(.*?)```)?")

// cmdDocument runs the examples of a document against a server, all of them in
// one shell, and compares what each prints, with … for anything:
// document FILE NAME
func cmdDocument(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: document FILE NAME")
	}
	text, err := os.ReadFile(filepath.Join(ts.Getenv("DOCS"), args[0]))
	ts.Check(err)
	const mark = "--- the next example ---"
	var script strings.Builder
	blocks := example.FindAllStringSubmatch(string(text), -1)
	if len(blocks) == 0 {
		ts.Fatalf("%s has no examples", args[0])
	}
	for _, b := range blocks {
		fmt.Fprintf(&script, "%s\necho '%s'\n", strings.ReplaceAll(b[1], "http://127.0.0.1:8787", ts.Getenv(args[1])), mark)
	}
	cmd := osexec.Command("sh", "-eu", "-c", script.String())
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), scriptEnv(ts)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		ts.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	printed := strings.Split(stdout.String(), mark+"\n")
	for i, b := range blocks {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(b[2]), "…", ".*")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(printed[i]) {
			ts.Fatalf("%s prints\n%s\nbut %s has\n%s", b[1], printed[i], args[0], b[2])
		}
	}
}

// curl is as much of curl as the documents use: -s, -H and -d.
func curl() {
	if err := request(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(2)
	}
}

func request(args []string) error {
	method, url, body, header := http.MethodGet, "", "", http.Header{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "-s":
		case (arg == "-H" || arg == "-d") && len(args) == 0:
			return errors.New(arg + " wants a value")
		case arg == "-H":
			name, value, _ := strings.Cut(args[0], ": ")
			header.Add(name, value)
			args = args[1:]
		case arg == "-d":
			method, body = http.MethodPost, args[0]
			args = args[1:]
		case strings.HasPrefix(arg, "-") || url != "":
			return fmt.Errorf("%s is not known here", arg)
		default:
			url = arg
		}
	}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// optimisedModule is the path of the rewritten library, which no server has.
const optimisedModule = "quoin.invalid/libquickjs"

// prepare writes the proxy and the go.mod that uses it.
func prepare() (build, error) {
	files, err := loadLibrary()
	if err != nil {
		return build{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return build{}, fmt.Errorf("a cache directory: %w", err)
	}
	cache = filepath.Join(cache, "quoin", "optimize")
	version, err := publish(filepath.Join(cache, "proxy"), files)
	if err != nil {
		return build{}, err
	}
	modfile, err := writeModfile(cache, version)
	if err != nil {
		return build{}, err
	}
	proxy, err := goOutput("env", "GOPROXY")
	if err != nil {
		return build{}, err
	}
	noSum, err := goOutput("env", "GONOSUMDB")
	if err != nil {
		return build{}, err
	}
	if noSum != "" {
		noSum += ","
	}
	return build{modfile, []string{
		"CGO_ENABLED=0", "GOWORK=off",
		"GOPROXY=file://" + filepath.ToSlash(filepath.Join(cache, "proxy")) + "," + proxy,
		"GONOSUMDB=" + noSum + optimisedModule,
	}}, nil
}

// publish writes the module into the proxy and returns its version, which names
// its content.
func publish(proxy string, files map[string][]byte) (version string, err error) {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(files[name]), files[name])
	}
	version = fmt.Sprintf("%s-x%x", libraryVersion, sum.Sum(nil)[:8])
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(optimisedModule + "@" + version + "/" + name)
		if err != nil {
			return "", err
		}
		if _, err := f.Write(files[name]); err != nil {
			return "", err
		}
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	base := filepath.Join(proxy, filepath.FromSlash(optimisedModule), "@v", version)
	for suffix, data := range map[string][]byte{
		".info": fmt.Appendf(nil, `{"Version": %q, "Time": "2026-06-04T00:00:00Z"}`, version),
		".mod":  files["go.mod"],
		".zip":  archive.Bytes(),
	} {
		if err := writeWhole(base+suffix, data); err != nil {
			return "", err
		}
	}
	return version, nil
}

// writeModfile writes the main module's go.mod with the library replaced, and its
// go.sum next to it, and returns the former's name.
func writeModfile(cache, version string) (string, error) {
	gomod, err := goOutput("env", "GOMOD")
	if err != nil {
		return "", err
	}
	if gomod == "" || gomod == os.DevNull {
		return "", fmt.Errorf("no go.mod here: run this in a module that requires Quoin")
	}
	data, err := os.ReadFile(gomod)
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(filepath.Dir(gomod), "go.sum"))
	if err != nil {
		return "", err
	}
	data = fmt.Appendf(data, "\nreplace %s %s => %s %s\n", libraryModule, libraryVersion, optimisedModule, version)
	name := filepath.Join(cache, fmt.Sprintf("%x.mod", sha256.Sum256(append(data, sums...))))
	sumfile := name[:len(name)-len(".mod")] + ".sum"
	if _, err := os.Stat(sumfile); err == nil {
		return name, nil // the Go tool has completed it
	}
	if err := writeWhole(name, data); err != nil {
		return "", err
	}
	return name, writeWhole(sumfile, sums)
}

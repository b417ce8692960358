package celltypes

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// TypesName is the file with the declarations, below the author's folder.
const TypesName = ".quoin/types.d.ts"

// ConfigName is the compiler's configuration, which editors read.
const ConfigName = "tsconfig.json"

// Config is the content of that file. Each cell is a module, so that two may have
// variables of one name; there are no other globals than a guest's globals; and what a catch
// gets has a code to look at, as programs of models do.
const Config = `{
  "compilerOptions": {
    "target": "es2023",
    "lib": ["es2023"],
    "module": "esnext",
    "moduleDetection": "force",
    "types": [],
    "strict": true,
    "useUnknownInCatchVariables": false,
    "allowJs": true,
    "noEmit": true
  },
  "include": [".quoin/types.d.ts", "dev.ts", "dev.js", "testdata/*.ts", "testdata/*.js"]
}
`

// HasCells reports whether a folder has anything for which types are of use.
func HasCells(dir string) bool {
	for _, pattern := range []string{"dev.ts", "dev.js", "testdata/*.ts", "testdata/*.js"} {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// Write puts the declarations into the author's folder, and a configuration if there
// is no other. The folder .quoin is kept out of git by a file in it. Files that are as
// they should be are not touched. Notes say in lines what was written, and what is
// left for the author to do.
func Write(dir, declarations string) (notes []string, err error) {
	own := filepath.Join(dir, filepath.Dir(filepath.FromSlash(TypesName)))
	if err := os.MkdirAll(own, 0o755); err != nil {
		return nil, err
	}
	if _, err := put(filepath.Join(own, ".gitignore"), "*\n"); err != nil {
		return nil, err
	}
	wrote, err := put(filepath.Join(dir, filepath.FromSlash(TypesName)), declarations)
	if err != nil {
		return nil, err
	}
	if wrote {
		notes = append(notes, "wrote "+TypesName)
	}
	config := filepath.Join(dir, ConfigName)
	text, err := os.ReadFile(config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		notes = append(notes, "wrote "+ConfigName)
		return notes, os.WriteFile(config, []byte(Config), 0o644)
	case err != nil:
		return nil, err
	case !strings.Contains(string(text), TypesName):
		notes = append(notes, ConfigName+` is left as it is: add "`+TypesName+`" to its include`)
	}
	return notes, nil
}

// put writes a file unless it has the text.
func put(name, text string) (wrote bool, err error) {
	now, err := os.ReadFile(name)
	if err == nil && bytes.Equal(now, []byte(text)) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, os.WriteFile(name, []byte(text), 0o644)
}

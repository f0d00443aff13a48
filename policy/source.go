package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bridge/policies"
)

const (
	maxFile  = 1 << 20 // bytes of one file
	maxFiles = 1000    // files of one policy
)

// builtInFolder is where the policies of the binary seem to lie.
const builtInFolder = "built-in/"

// A source is a policy file as read.
type source struct {
	name string // as the user wrote it, or the user's folder and the file in it
	data []byte
}

// embedded are the policies of the binary.
func embedded() ([]source, error) {
	entries, err := policies.Files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var sources []source
	for _, e := range entries {
		data, err := policies.Files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{builtInFolder + e.Name(), data})
	}
	return sources, nil
}

// read takes in the named files, and of named folders the .cue files that lie
// directly in them.
func read(paths []string) ([]source, Errors) {
	var sources []source
	var errs Errors
	seen := map[string]bool{}
	for _, p := range paths {
		if p == "" {
			errs = append(errs, Error{Message: "a path is empty; name a file or a folder"})
			continue
		}
		files, err := list(p)
		if err != nil {
			errs = append(errs, Error{Pos: Pos{File: p}, Message: reason(err)})
			continue
		}
		for _, name := range files {
			// A file that is named twice, or with its folder, is one file: its
			// definitions would otherwise be reported at the same place twice.
			if key := filepath.Clean(name); seen[key] {
				continue
			} else {
				seen[key] = true
			}
			if len(sources) == maxFiles {
				return nil, append(errs, Error{Pos: Pos{File: p}, Message: fmt.Sprintf("more than %d files", maxFiles)})
			}
			data, err := readFile(name)
			if err != nil {
				errs = append(errs, Error{Pos: Pos{File: name}, Message: reason(err)})
				continue
			}
			if strings.HasPrefix(name, builtInFolder) {
				name = "./" + name // it is the user's own
			}
			sources = append(sources, source{name, data})
		}
	}
	return sources, errs
}

// list is the files that a path stands for.
func list(p string) ([]string, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{p}, nil
	}
	entries, err := os.ReadDir(p)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		// Editors keep copies under names that begin with a dot.
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".cue") && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, inFolder(p, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, errors.New("no .cue file in this folder")
	}
	return files, nil
}

// inFolder is the path of a file in a folder, which stays as it was given.
func inFolder(folder, file string) string {
	if os.IsPathSeparator(folder[len(folder)-1]) {
		return folder + file
	}
	return folder + string(filepath.Separator) + file
}

func readFile(name string) ([]byte, error) {
	// Opening a named pipe would wait for whoever writes to it.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes, the most a policy file may have", maxFile)
	}
	return data, nil
}

// reason is what went wrong with a file, without the name that is printed
// before it.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		if errors.Is(err, fs.ErrNotExist) {
			return "no such file or folder"
		}
		return pathErr.Err.Error()
	}
	return err.Error()
}

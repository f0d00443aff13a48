package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// Packages are what is installed for a sandbox's Python, before it is started.
type Packages struct {
	List   []string // requirements, as pip has them: pandas, matplotlib>=3.9
	File   string   // of more of them, with hashes if it has any; "" for none
	Folder string   // where environments of the native engine are kept
}

// None reports whether there are none.
func (p Packages) None() bool { return len(p.List) == 0 && p.File == "" }

// Digest identifies what is installed into a base.
func (p Packages) Digest(base string) (string, error) {
	text, err := p.text()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(base + "\x00" + strings.Join(p.List, "\x00") + "\x00\x00" + string(text)))
	return hex.EncodeToString(sum[:])[:16], nil
}

// text is that of the file.
func (p Packages) text() ([]byte, error) {
	if p.File == "" {
		return nil, nil
	}
	text, err := os.ReadFile(p.File)
	if err != nil {
		return nil, fmt.Errorf("reading the profile's requirements: %w", err)
	}
	return text, nil
}

// Text is that of the file of requirements, "" without one.
func (p Packages) Text() (string, error) {
	text, err := p.text()
	return string(text), err
}

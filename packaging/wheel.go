package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
)

// wheelTags are the platforms of PyPI. Go 1.26 runs on macOS 12 and later; on
// Linux the binary is static, so that any C library will do.
var wheelTags = map[string]string{
	"linux/amd64":   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

// pythonVersion is a semantic version as PyPI writes it: 1.2.3-rc.1 as 1.2.3rc1,
// and 0.0.0-20260131.gabc1234, which make gives a commit, as 0.0.0.dev20260131+gabc1234.
func pythonVersion(version string) (string, error) {
	base, rest, _ := strings.Cut(version, "-")
	switch {
	case rest == "":
		return base, nil
	case regexp.MustCompile(`^(rc|alpha|beta)\.\d+$`).MatchString(rest):
		kind, n, _ := strings.Cut(rest, ".")
		return base + strings.NewReplacer("alpha", "a", "beta", "b").Replace(kind) + n, nil
	case regexp.MustCompile(`^\d+\.g[0-9a-f]+$`).MatchString(rest):
		day, commit, _ := strings.Cut(rest, ".")
		return base + ".dev" + day + "+" + commit, nil
	}
	return "", fmt.Errorf("version %q: PyPI takes 1.2.3, 1.2.3-rc.1, alpha.1 or beta.1", version)
}

// wheels makes a wheel for each platform. It has the binary as a script, which
// pip and uv put on PATH.
func (r *release) wheels() error {
	version, err := pythonVersion(r.version)
	if err != nil {
		return err
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	base := strings.ReplaceAll(registryName, "-", "_") + "-" + version
	for _, t := range r.targets {
		binary, err := os.ReadFile(t.binary)
		if err != nil {
			return err
		}
		program := registryName + strings.TrimPrefix(t.program(), "bridge")
		tags := wheelTags[t.os+"/"+t.arch]
		var wheel strings.Builder
		fmt.Fprintf(&wheel, "Wheel-Version: 1.0\nGenerator: bridge\nRoot-Is-Purelib: false\n")
		for tag := range strings.SplitSeq(tags, ".") {
			fmt.Fprintf(&wheel, "Tag: py3-none-%s\n", tag)
		}
		files := []file{
			{base + ".data/scripts/" + program, binary, true},
			{name: base + ".dist-info/METADATA", data: fmt.Appendf(nil,
				"Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: NOTICES\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n%s", registryName, version, summary, documents[2].data)},
			{name: base + ".dist-info/WHEEL", data: []byte(wheel.String())},
		}
		for _, d := range documents[:2] {
			files = append(files, file{name: path.Join(base+".dist-info/licenses", d.name), data: d.data})
		}
		var record strings.Builder
		for _, f := range files {
			sum := sha256.Sum256(f.data)
			fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
		}
		name := base + ".dist-info/RECORD"
		files = append(files, file{name: name, data: []byte(record.String() + name + ",,\n")})
		packed, err := zipped(files, r.made)
		if err != nil {
			return err
		}
		if err := r.write(fmt.Sprintf("%s-py3-none-%s.whl", base, tags), packed); err != nil {
			return err
		}
	}
	return nil
}

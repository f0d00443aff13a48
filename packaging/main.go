// Command packaging makes what users install, for Linux, macOS and Windows on
// amd64 and arm64: archives, deb and rpm packages, packages of npm and PyPI, MCP
// bundles, the registry's server.json, a bill of materials and checksums. Two
// runs on the same commit give the same bytes.
//
// It is run by make dist, and is in no binary.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Name is that of the packages: on the registries, "bridge" is others'.
const (
	registryName = "mcp-python-bridge" // on npm and PyPI
	systemName   = "mcp-bridge"        // of Debian's and Fedora's packages, and of their program
	summary      = "One MCP tool, run_python, for all your MCP servers: sandboxed, under a policy"
)

// release is what is made.
type release struct {
	version string // semantic
	made    time.Time
	out     string // folder
	nfpm    string // program

	notices []byte // the licences of what is linked in
	targets []target
}

// target is a platform, with its binary.
type target struct {
	os, arch string // as Go names them
	binary   string // path
}

var platforms = []target{
	{os: "linux", arch: "amd64"}, {os: "linux", arch: "arm64"},
	{os: "darwin", arch: "amd64"}, {os: "darwin", arch: "arm64"},
	{os: "windows", arch: "amd64"}, {os: "windows", arch: "arm64"},
}

// program is the name of the binary on the platform.
func (t target) program() string {
	if t.os == "windows" {
		return "bridge.exe"
	}
	return "bridge"
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("packaging: ")
	r := release{}
	docs := flag.String("docs", "", "write docs/commands.md to `FILE`, and nothing else")
	flag.StringVar(&r.version, "version", "", "the semantic `VERSION`")
	flag.StringVar(&r.out, "out", "dist", "the `FOLDER` to write to")
	flag.StringVar(&r.nfpm, "nfpm", "nfpm", "the `PROGRAM` that makes deb and rpm packages")
	seconds := flag.Int64("time", 0, "the time of all files, in `SECONDS` since 1970")
	only := flag.String("only", "", "the `PLATFORMS` to make, such as linux/amd64,linux/arm64 (default all)")
	flag.Parse()
	if *docs != "" {
		if err := os.WriteFile(*docs, commands(), 0o644); err != nil {
			log.Fatal(err)
		}
		return
	}
	r.version = strings.TrimPrefix(r.version, "v")
	r.made = time.Unix(*seconds, 0).UTC()
	if err := r.make(*only); err != nil {
		log.Fatal(err)
	}
}

func (r *release) make(only string) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.out, "bin"), 0o755); err != nil {
		return err
	}
	for _, t := range platforms {
		if only == "" || slices.Contains(strings.Split(only, ","), t.os+"/"+t.arch) {
			r.targets = append(r.targets, t)
		}
	}
	for i := range r.targets {
		if err := r.build(&r.targets[i]); err != nil {
			return err
		}
	}
	var err error
	if r.notices, err = r.licences(); err != nil {
		return err
	}
	if err := r.imageContexts(); err != nil {
		return err
	}
	for _, step := range []func() error{r.archives, r.systemPackages, r.npm, r.wheels, r.bundles, r.serverJSON, r.bill, r.checksums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// build makes the binary of a platform.
func (r *release) build(t *target) error {
	t.binary = filepath.Join(r.out, "bin", fmt.Sprintf("%s-%s-%s", strings.TrimSuffix(t.program(), ".exe"), t.os, t.arch))
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X bridge/cli.version="+r.version, "-o", t.binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// write makes a file in the folder of what is made, and says so.
func (r *release) write(name string, data []byte) error {
	path := filepath.Join(r.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}

// checksums writes those of all files, as sha256sum -c reads them.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return r.write("SHA256SUMS", []byte(lines.String()))
}

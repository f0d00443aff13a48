//go:build linux

package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bridge/sandbox"
)

// write puts a file into a new folder's tree.
func write(t *testing.T, text string, elements ...string) {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEndpoint looks for the daemon as the docker command does.
func TestEndpoint(t *testing.T) {
	home, runtime := t.TempDir(), t.TempDir()
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	want := func(host, source, fault string) {
		t.Helper()
		p, err := find("")
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%v, want an error with %q", err, fault)
			}
			return
		}
		if err != nil || p.host != host || p.source != source {
			t.Errorf("%q by %q (%v), want %q by %q", p.host, p.source, err, host, source)
		}
	}
	want("unix:///var/run/docker.sock", "docker's default", "")

	socket := filepath.Join(runtime, "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want("unix://"+socket, "the user's socket", "")

	digest := sha256.Sum256([]byte("far"))
	key := hex.EncodeToString(digest[:])
	config := filepath.Join(home, ".docker")
	write(t, `{"currentContext": "far", "auths": {}}`, config, "config.json")
	want("", "", `docker's context "far" is not there; choose one of docker context ls, or set DOCKER_HOST`)
	write(t, `{"Name": "far", "Metadata": {}, "Endpoints": {"docker": {"Host": "tcp://far.example:2376", "SkipTLSVerify": false}}}`,
		config, "contexts", "meta", key, "meta.json")
	want("tcp://far.example:2376", `context "far"`, "")
	write(t, "", config, "contexts", "tls", key, "docker", "ca.pem")
	if p, err := find(""); err != nil || p.keys != filepath.Join(config, "contexts", "tls", key, "docker") || p.local() {
		t.Errorf("%+v, %v", p, err)
	}

	t.Setenv("DOCKER_CONTEXT", "default")
	want("unix://"+socket, "the user's socket", "")
	t.Setenv("DOCKER_CONTEXT", "gone")
	want("", "", `docker's context "gone" is not there`)
	t.Setenv("DOCKER_HOST", "unix:///run/other.sock")
	want("unix:///run/other.sock", "DOCKER_HOST", "")
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	write(t, `{`, config, "config.json")
	want("", "", "; mend it, or set DOCKER_HOST")
}

// TestSilence words why a daemon does not answer, with what there is to do.
func TestSilence(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for host, want := range map[string]string{
		"unix://" + dir + "/none.sock": "docker does not answer at unix://" + dir + "/none.sock (options): no such file or directory; install docker, or start it: systemctl start docker",
		"unix://" + dead:               "docker does not answer at unix://" + dead + " (options): connection refused; start it: systemctl start docker",
		"ssh://me@far.example":         "docker at ssh://me@far.example (options) is reached by ssh, which the bridge does not speak; forward its socket with ssh -nNT -L and set DOCKER_HOST",
		"nowhere":                      "docker at nowhere (options): unable to parse docker host `nowhere`; set DOCKER_HOST to the address of a daemon",
	} {
		e := New(Options{Host: host})
		if _, err := e.Describe(t.Context(), sandbox.Spec{}); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
		e.Close()
	}
}

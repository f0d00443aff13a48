package podman

import (
	"slices"
	"strings"
	"testing"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// TestNothingElseIsWritable tries to make a file in every folder there is.
func TestNothingElseIsWritable(t *testing.T) {
	e := newEngine(t)
	b := enginetest.Start(t, e, sandbox.Spec{}, `
import os
for folder, folders, _ in os.walk("/"):
    if folder == "/proc":
        folders[:] = [f for f in folders if not f.isdigit()]
    try:
        os.close(os.open(folder + "/made", os.O_CREAT | os.O_WRONLY))
        print(folder)
    except OSError:
        pass
`)
	stdout, stderr, exit := enginetest.Collect(t, b)
	if got := strings.Fields(stdout); exit.Code != 0 || !slices.Equal(slices.Sorted(slices.Values(got)), []string{"/dev/shm", "/tmp", "/workspace"}) {
		t.Errorf("writable: %v, ended with %+v\n%s", got, exit, stderr)
	}
}

package podman

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"bridge/sandbox"
	"bridge/sandbox/enginetest"
)

// helpers are what the test binary does in the place of its tests.
var helpers = map[string]func(){"hold": holdSandboxes}

// ownEnv tells a helper to use a service of its own.
const ownEnv = "BRIDGE_TEST_OWN_SERVICE"

// nowhere is where to look if no service is to be found.
func nowhere(bool) ([]place, error) { return nil, nil }

// holdSandboxes starts two sandboxes and a session that is stuck, makes one more
// ahead, prints whose they are, and waits to be killed.
func holdSandboxes() {
	e := New(Options{Image: testImage()})
	if os.Getenv(ownEnv) != "" {
		e.places = nowhere
	}
	for range 2 {
		b, err := e.Start(context.Background(), sandbox.Spec{}, []string{"-I", "-c", enginetest.Stubborn}, io.Discard)
		if err != nil {
			fmt.Println(err)
			return
		}
		b.Stdout().Read(make([]byte, 3))
	}
	s, err := sandbox.Open(context.Background(), e, sandbox.Spec{}, nil, io.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	go s.Run(ctx, sandbox.Run{Code: "import re; re.match('(a*)*b', 'a' * 64)"})
	if err := e.Prepare(ctx, sandbox.Spec{}, []string{"-c", ""}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.owner)
	select {}
}

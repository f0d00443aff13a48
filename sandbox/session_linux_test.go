package sandbox_test

import (
	"context"
	"testing"
	"time"

	"bridge/sandbox"
)

func TestSmoke(t *testing.T) {
	s, err := sandbox.Open(context.Background(), plain{"/usr/bin/python3"}, sandbox.Spec{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, code := range []string{"1+1", "print('hi')\nx=3", "x", "1/0", "import os; os.system('echo child'); await __import__('asyncio').sleep(0.01)\nx+1",
		"raise SystemExit(3)", "while True: pass", "x", "import asyncio; await asyncio.sleep(100)", "_", "import os; print('last'); os._exit(4)"} {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		start := time.Now()
		r, err := s.Run(ctx, sandbox.Run{Code: code})
		cancel()
		v := "-"
		if r.Value != nil {
			v = *r.Value
		}
		t.Logf("%q %v %v %+v value=%s err=%v exit=%v lost=%v %v", code, time.Since(start), r.Status, r.Stdout, v, r.Error, r.ExitCode, r.Lost, err)
		if r.Stderr.Text != "" {
			t.Log(r.Stderr.Text)
		}
	}
}

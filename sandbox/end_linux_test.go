package sandbox_test

import (
	"context"
	"sync"
	"testing"

	"bridge/sandbox"
)

// leaving is code that leaves work for the end of its Python.
const leaving = `
import atexit, sys, threading

class Last:
    def __del__(self): print("deleted")

def thread():
    started.set()
    threading.main_thread().join()
    print("thread")

last, started = Last(), threading.Event()
threading.Thread(target=thread).start()
started.wait()
atexit.register(print, "atexit")
print("run")
sys.exit(3)
`

// TestLast ends Python within a run: what it says at its end is the run's, and
// files can still be read.
func TestLast(t *testing.T) {
	for _, e := range subjects(t) {
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e, nil)
			r, err := s.Run(t.Context(), sandbox.Run{Code: leaving, Last: true})
			if err != nil {
				t.Fatal(err)
			}
			if want := "run\nthread\natexit\ndeleted\n"; r.Stdout.Text != want || r.Stderr.Text != "" {
				t.Errorf("stdout %q, want %q; stderr %q", r.Stdout.Text, want, r.Stderr.Text)
			}
			if r.Status != sandbox.Exited || *r.ExitCode != 3 {
				t.Errorf("status %q with code %v, want exit with 3", r.Status, r.ExitCode)
			}
			if _, err := s.Read(t.Context(), "none"); err == nil || err.Error() != "No such file or directory" {
				t.Errorf("reading after the end: %v", err)
			}
			s.End()
			ended(t, s, sandbox.Exit{})
		})
	}
}

// TestEnd ends sessions that are idle and one with a run that is going on: their
// Python ends by itself if it does so within the grace.
func TestEnd(t *testing.T) {
	for _, e := range subjects(t) {
		t.Run(e.name, func(t *testing.T) {
			for _, c := range []struct {
				code string
				want sandbox.Exit
			}{
				{"", sandbox.Exit{}},
				{leaving, sandbox.Exit{}},
				{"import atexit, os; atexit.register(os._exit, 5)", sandbox.Exit{Code: 5}},
			} {
				s := open(t, e, nil)
				if _, err := s.Run(t.Context(), sandbox.Run{Code: c.code}); err != nil {
					t.Fatal(err)
				}
				s.End()
				ended(t, s, c.want)
				if _, err := s.Run(t.Context(), sandbox.Run{Code: "1"}); err == nil || err.Error() != "the session is gone: the session was closed" {
					t.Errorf("a run after the end: %v", err)
				}
			}

			// What does not end, does so with the sandbox. Not every engine tells how.
			s := open(t, e, nil)
			if _, err := s.Run(t.Context(), sandbox.Run{Code: "import atexit, time; atexit.register(time.sleep, 600)"}); err != nil {
				t.Fatal(err)
			}
			s.End()
			ended(t, s, s.Loss().Exit)

			s = open(t, e, nil)
			var once sync.Once
			up, result := make(chan struct{}), make(chan sandbox.Result, 1)
			go func() {
				r, err := s.Run(context.Background(), sandbox.Run{
					Code:   "import time\ntry:\n    print('up')\n    time.sleep(600)\nfinally:\n    print('down')",
					Stream: func(string, string, int64) { once.Do(func() { close(up) }) },
				})
				if err != nil {
					t.Error(err)
				}
				result <- r
			}()
			<-up
			s.End()
			if r := <-result; r.Status != sandbox.Interrupted || r.Stdout.Text != "up\ndown\n" {
				t.Errorf("the run that was going on: %q with %q", r.Status, r.Stdout.Text)
			}
			ended(t, s, sandbox.Exit{})
		})
	}
}

// ended holds that a session was closed and how its Python ended.
func ended(t *testing.T, s *sandbox.Session, want sandbox.Exit) {
	t.Helper()
	if l := s.Loss(); l == nil || !l.Closed || l.Exit != want {
		t.Errorf("%v, ended with %+v, want %+v", l, l.Exit, want)
	}
}

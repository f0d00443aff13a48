//go:build linux

package docker

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"bridge/sandbox"
)

// helpers are what the test binary does in the place of its tests.
var helpers = map[string]func(){
	"session": holdSessions,
	"deaf":    holdDeaf,
	"flood":   holdFlood,
	"starts":  startOnAndOn,
}

// tellHeld prints whose containers these are, and waits to be killed.
func tellHeld(e *Engine) {
	fmt.Println(e.owner)
	select {}
}

// holdSessions runs code that does not end in two sessions.
func holdSessions() {
	e := New(Options{Image: os.Getenv("BRIDGE_TEST_IMAGE")})
	for _, code := range []string{"while True: pass", "import time, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1000)"} {
		s, err := sandbox.Open(context.Background(), e, allowed(sandbox.Spec{}), nil, io.Discard)
		if err != nil {
			fmt.Println(err)
			return
		}
		began := make(chan struct{})
		begin := sync.OnceFunc(func() { close(began) })
		go s.Run(context.Background(), sandbox.Run{Code: "print('up', flush=True)\n" + code, Stream: func(string, string, int64) { begin() }})
		<-began
	}
	tellHeld(e)
}

// hold starts a guest that does not look at its input.
func hold(source string) (*Engine, sandbox.Sandbox) {
	e := New(Options{Image: os.Getenv("BRIDGE_TEST_IMAGE")})
	b, err := e.Start(context.Background(), allowed(sandbox.Spec{}), []string{"-I", "-c", source}, io.Discard)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	b.Stdout().Read(make([]byte, 3))
	return e, b
}

// holdFlood has one that writes on and on.
func holdFlood() {
	e, _ := hold("print('up', flush=True)\nwhile True: print('x' * 100000)")
	tellHeld(e)
}

// holdDeaf also writes to it until docker takes no more: then docker does not
// see the end of the connection either.
func holdDeaf() {
	e, b := hold("import signal; print('up', flush=True); signal.pause()")
	go func() {
		for {
			if _, err := b.Stdin().Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}()
	tellHeld(e)
}

// startOnAndOn starts and ends sandboxes, two at a time.
func startOnAndOn() {
	e := New(Options{Image: os.Getenv("BRIDGE_TEST_IMAGE")})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for {
				b, err := e.Start(context.Background(), allowed(sandbox.Spec{}), []string{"-I", "-c", "import signal; signal.pause()"}, io.Discard)
				if err != nil {
					fmt.Println(err)
					return
				}
				b.Kill()
				b.Wait()
			}
		})
	}
	tellHeld(e)
}

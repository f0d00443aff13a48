package sandbox_test

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"bridge/sandbox"
)

// scripted is a sandbox whose output is given, for the fuzzer.
type scripted struct {
	stdout io.Reader
	once   sync.Once
	killed chan struct{}
}

func (s *scripted) Start(context.Context, sandbox.Spec, []string, io.Writer) (sandbox.Sandbox, error) {
	return s, nil
}
func (*scripted) Name() string                              { return "scripted" }
func (*scripted) Ready(context.Context, sandbox.Spec) error { return nil }
func (*scripted) Stdin() io.WriteCloser                     { return discard{io.Discard} }
func (s *scripted) Stdout() io.Reader                       { return s.stdout }
func (*scripted) Stderr() io.Reader                         { return bytes.NewReader(nil) }
func (s *scripted) Kill()                                   { s.once.Do(func() { close(s.killed) }) }
func (s *scripted) Wait() sandbox.Exit                      { <-s.killed; return sandbox.Exit{Code: -1, Signal: 9} }
func (*scripted) OutOfMemory() bool                         { return false }
func (*scripted) Limits() map[string]string                 { return nil }

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// Whatever the guest says: the host neither panics nor hangs, and keeps a
// bounded part of it.
func FuzzWire(f *testing.F) {
	ready := `{"jsonrpc":"2.0","method":"ready","params":{"python":"3","implementation":"c"}}` + "\n"
	f.Add([]byte(ready))
	f.Add([]byte(ready + `{"jsonrpc":"2.0","method":"output","params":{"run":1,"stream":"stdout","text":"\ud83d\ude00é","skipped":7}}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"result":{"status":"success","value":"1"}}` + "\n"))
	f.Add([]byte(ready + `{"jsonrpc":"2.0","id":5,"method":"call","params":{"run":1,"server":"toy","tool":"echo","arguments":{"text":"x"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"exited","params":{"signal":9}}` + "\n"))
	f.Add([]byte(ready + `{"jsonrpc":"2.0","id":1,"result":{"status":"error","error":{"type":"E","message":"m","traceback":"t"},"exitCode":-9}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fake := &scripted{stdout: bytes.NewReader(data), killed: make(chan struct{})}
		go func() {
			// The process ends with its output, as a real one does.
			fake.Kill()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		s, err := sandbox.Open(ctx, fake, sandbox.Spec{}, newToy().serve, io.Discard)
		if err != nil {
			return
		}
		r, err := s.Run(ctx, sandbox.Run{Code: "1", Output: 100})
		if err == nil {
			for _, o := range []sandbox.Output{r.Stdout, r.Stderr, r.Background} {
				if len(o.Text) > 200 || o.Skipped < 0 || o.Gap > len(o.Text) {
					t.Errorf("%+v", o)
				}
			}
		}
		if ctx.Err() != nil {
			t.Error("it hangs")
		}
		s.Close()
	})
}

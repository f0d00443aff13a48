package podman

import (
	"bridge/sandbox"
	"bufio"
	"fmt"
	"testing"
	"time"
)

func TestFirst(t *testing.T) {
	e := newEngine(t)
	for range 5 {
		t0 := time.Now()
		b := start(t, e, sandbox.Spec{}, "import sys,os;print('up',flush=True)\nfor l in sys.stdin: print(l,end='',flush=True)\nprint(dict(os.environ),os.listdir('/'),open('/proc/self/mountinfo').read());sys.exit(3)")
		r := bufio.NewReader(b.Stdout())
		t1 := time.Now()
		l, _ := r.ReadString('\n')
		t2 := time.Now()
		t.Log(l, t1.Sub(t0), t2.Sub(t0))
		t3 := time.Now()
		for range 1000 {
			fmt.Fprintln(b.Stdin(), "x")
			r.ReadString('\n')
		}
		t.Log("round", time.Since(t3)/1000)
		out, errs, exit := collect(t, b)
		_ = out
		t.Log(errs, exit, b.Limits(), b.OutOfMemory())
		t4 := time.Now()
		b.Wait()
		t.Log(time.Since(t4))
	}
	b := start(t, e, sandbox.Spec{}, "import sys,os;print(dict(os.environ),os.listdir('/'),os.listdir('/sys'),open('/proc/self/mountinfo').read(),open('/proc/self/limits').read())")
	t.Log(collect(t, b))
}

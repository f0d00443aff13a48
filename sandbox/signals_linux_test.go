package sandbox_test

import (
	"fmt"
	"testing"

	"bridge/sandbox"
)

// Code's own signal handlers act in code alone. One that raised while a run
// was begun or answered used to end the loop that serves runs, or to lose the
// run that it had just taken: nobody answered it any more.
func TestSignals(t *testing.T) {
	table(t, map[string][]step{
		"told later": {
			{code: "import signal, os, threading, time\nseen = []\nsignal.signal(signal.SIGUSR1, lambda n, f: seen.append(n))\nthreading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()"},
			{code: "time.sleep(0.5)\nseen == [signal.SIGUSR1]", value: "True"},
			{code: "threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()"},
			{code: "seen == [signal.SIGUSR1] * 2", pause: 300e6, value: "True"},
		},
		"handlers are code's own": {
			{code: "import signal\ndef f(number, frame): raise TimeoutError('too long')\nsignal.signal(signal.SIGALRM, f)", value: "<Handlers.SIG_DFL: 0>"},
			{code: "signal.getsignal(signal.SIGALRM) is f", value: "True"},
			{code: "signal.alarm(1)\nimport time\ntry: time.sleep(30)\nexcept TimeoutError as e: print(e)", stdout: "too long\n"},
			{code: "signal.signal(signal.SIGALRM, signal.SIG_IGN) is f, signal.getsignal(signal.SIGALRM)", value: "(True, <Handlers.SIG_IGN: 1>)"},
			{code: "signal.signal(signal.SIGALRM, 'x')", status: sandbox.Failed, err: "~TypeError: signal handler must be .*"},
		},
		"in a child": {
			{code: "import signal, os\nsignal.signal(signal.SIGUSR1, lambda *a: os._exit(5))\npid = os.fork()\nif pid == 0:\n    os.kill(os.getpid(), signal.SIGUSR1)\n    os._exit(0)\nos.waitpid(pid, 0)[1] >> 8", value: "5"},
		},
	})
	for _, e := range subjects(t) {
		for name, body := range map[string]string{"quick": "raise ValueError", "slow": "time.sleep(0.001); raise ValueError"} {
			runs := map[string]int{"quick": 100, "slow": 10}[name]
			t.Run(e.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := open(t, e, newToy().serve)
				run(t, s, step{code: fmt.Sprintf("import signal, time\ndef f(*a): %s\nsignal.signal(signal.SIGALRM, f)\nsignal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)", body)})
				for i := range runs {
					if r := run(t, s, step{code: "x = 1\nx"}); r.Status != sandbox.Failed && r.Status != sandbox.Succeeded {
						t.Fatalf("run %d: status %q: %v", i, r.Status, r.Lost)
					}
				}
			})
		}
	}
}

// A handler that another thread has called never cuts a frame of the wire
// short: the calls go on, and so does the session.
func TestSignalsOfThreads(t *testing.T) {
	for _, e := range subjects(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, e, newToy().serve)
			run(t, s, step{code: `import signal, os, threading, time
def f(*a): raise TimeoutError
signal.signal(signal.SIGUSR1, f)
def fire():
    for _ in range(300):
        os.kill(os.getpid(), signal.SIGUSR1); time.sleep(0.0002)
t = threading.Thread(target=fire); t.start()
while t.is_alive():
    try: await mcp_toy.echo('x')
    except TimeoutError: pass`})
			// Each of these may still be cut short.
			for range 1000 {
				if r := run(t, s, step{code: "t.join()\nawait mcp_toy.echo('y')"}); r.Status == sandbox.Succeeded {
					return
				} else if r.Status != sandbox.Failed {
					t.Fatalf("status %q: %v", r.Status, r.Lost)
				}
			}
			t.Error("the session never came to rest")
		})
	}
}

// Command bench measures the bridge and prints a table: each figure beside
// its reference, both taken in one run, in turns, and beside its goal.
//
// It never fails because something was slow. It exits with 1 if a figure
// could not be taken. A container engine that is not ready is not measured,
// which its lines say.
//
//	usage: bench [-bridge PATH] [-only REGEXP]
//
// As `bench serve` it is the MCP server that the measurements talk to. It is
// no part of the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"text/tabwriter"

	"bridge/sandbox/engines"
)

// A figure is one line of the table.
type figure struct {
	what      string
	measured  string
	reference string // what it is compared with, and that one's value
	ratio     string // measured to reference
	goal      string // "" where the figure is there to be known
	met       bool
	absent    string // why there was nothing to measure, "" if there was
}

// A bench is what the measurements share.
type bench struct {
	ctx    context.Context
	bridge string // the binary that is measured
	self   string // this program, which is also the server
	python string // the interpreter that sandbox and reference both run
	dir    string // for policies, removed at the end
}

// A measurement makes rows of the table.
type measurement struct {
	name string
	take func(*bench) ([]figure, error)
}

// measurements are all of them, in the order of the table.
func measurements() []measurement {
	all := []measurement{{"start", (*bench).start}}
	for _, e := range engines.Containers(engines.All(engines.Options{})) {
		all = append(all, measurement{e.Name(), func(b *bench) ([]figure, error) { return b.container(e.Name()) }})
	}
	return append(all,
		measurement{"run", (*bench).warmRun},
		measurement{"call", (*bench).proxiedCall},
		measurement{"parallel", (*bench).parallelCalls},
		measurement{"check", (*bench).policyCheck},
		measurement{"tokens", (*bench).tokens},
		measurement{"output", (*bench).output},
		measurement{"idle", (*bench).idle},
		measurement{"size", (*bench).size},
		measurement{"vet", (*bench).vet},
	)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serve(os.Args[2:]); err != nil {
			fmt.Fprintf(os.Stderr, "bench serve: %v\n", err)
			os.Exit(1)
		}
		return
	}
	path := flag.String("bridge", "bin/bridge", "the binary to measure")
	only := flag.String("only", "", "take only the measurements whose names match")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := measure(ctx, *path, *only)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// measure takes every measurement that is asked for and prints the table. It
// tells whether all of them could be taken.
func measure(ctx context.Context, path, only string) (bool, error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	b, err := newBench(ctx, path)
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(b.dir)

	ok := true
	var figures []figure
	for _, m := range measurements() {
		if !wanted.MatchString(m.name) || ctx.Err() != nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: measuring %s\n", m.name)
		taken, err := m.take(b)
		if err != nil {
			ok = false
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", m.name, err)
		}
		figures = append(figures, taken...)
	}
	table(figures)
	return ok, ctx.Err()
}

func newBench(ctx context.Context, path string) (*bench, error) {
	binary, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("%w (make build makes it)", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	python, err := interpreter(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bridge-bench-")
	if err != nil {
		return nil, err
	}
	return &bench{ctx: ctx, bridge: binary, self: self, python: python, dir: dir}, nil
}

// table prints the figures that could be taken.
func table(figures []figure) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tmeasured\treference\tratio\tgoal\tverdict")
	for _, f := range figures {
		verdict := "met"
		switch {
		case f.absent != "":
			verdict = "not measured: " + f.absent
		case f.goal == "":
			f.goal, verdict = "none", "-"
		case !f.met:
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", f.what, f.measured, f.reference, f.ratio, f.goal, verdict)
	}
	w.Flush()
}

package policy

import (
	"fmt"
	"runtime/metrics"
	"slices"
	"strconv"
	"time"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// CUE has no way to stop an evaluation, and a few lines of it can ask for more
// than a machine has: each line twice the one before. What a policy may take
// to evaluate, before it counts as a mistake:
const (
	maxTime   = 10 * time.Second
	maxMemory = 512 << 20 // bytes
)

// bounded calls load and waits until it is done, or takes too much, which is
// the mistake that it returns. Nothing can stop load then: it goes on until the
// process ends, which for want of a policy it is about to. A policy that makes
// CUE panic is a mistake as well.
func bounded(load func()) (mistake string) {
	done := make(chan string, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- "the policy cannot be evaluated: " + clip(oneLine(fmt.Sprint(r)))
			}
			close(done)
		}()
		load()
	}()
	deadline := time.NewTimer(maxTime)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	before := heap()
	for {
		select {
		case mistake := <-done:
			return mistake
		case <-deadline.C:
			return fmt.Sprintf("the policy takes more than %v to evaluate: it refers to itself too often, or is too large", maxTime)
		case <-tick.C:
			if heap()-before > maxMemory {
				return fmt.Sprintf("the policy takes more than %d MiB to evaluate: it refers to itself too often, or is too large", maxMemory>>20)
			}
		}
	}
}

// heap is the bytes that the process's objects take.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// outsized are functions that can ask for any amount of memory at once, before
// anyone can see it coming.
var outsized = map[string][]string{
	"list":      {"Repeat"},
	"math/bits": {"Lsh", "Set"},
	"strconv":   {"FormatFloat"},
	"strings":   {"Join", "Repeat", "Replace"},
}

// checkCall refuses calls of such functions. imports are the packages that the
// file imports, by the names that they have in it.
func (s *syntax) checkCall(n *ast.CallExpr, imports map[string]string) {
	fun, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	pkg, ok := fun.X.(*ast.Ident)
	if !ok {
		return
	}
	name := ""
	switch sel := fun.Sel.(type) {
	case *ast.Ident:
		name = sel.Name
	case *ast.BasicLit:
		name, _ = strconv.Unquote(sel.Value)
	}
	if slices.Contains(outsized[imports[pkg.Name]], name) {
		s.add(n.Pos(), "%s.%s: a policy cannot call it, as its result can be of any size", pkg.Name, name)
	}
}

// checkTimes refuses * but between written numbers: it also repeats strings.
func (s *syntax) checkTimes(n *ast.BinaryExpr) {
	if n.Op == token.MUL && !(isNumber(n.X) && isNumber(n.Y)) {
		s.add(n.OpPos, "a policy can multiply written numbers only")
	}
}

func isNumber(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.INT || e.Kind == token.FLOAT
	case *ast.ParenExpr:
		return isNumber(e.X)
	case *ast.UnaryExpr:
		return isNumber(e.X)
	case *ast.BinaryExpr:
		return isNumber(e.X) && isNumber(e.Y)
	}
	return false
}

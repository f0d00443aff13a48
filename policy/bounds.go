package policy

import (
	"fmt"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"
)

// CUE has no way to stop an evaluation, and a few lines of it can ask for more
// than a machine has: each line twice the one before. What a policy may take
// to evaluate, before it counts as a mistake:
const (
	maxTime   = 10 * time.Second
	maxMemory = 512 << 20 // bytes
)

// bounded calls load, and returns a mistake if it takes too much time or memory, or
// makes CUE panic. Nothing can stop load then: it goes on until the process ends,
// as it does without a policy.
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
func (s *fileParser) checkCall(n *ast.CallExpr, imports map[string]string) {
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
func (s *fileParser) checkTimes(n *ast.BinaryExpr) {
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

// maxDepth bounds how deep a file nests. CUE's parser and evaluator recurse,
// and a stack that overflows ends the process.
const maxDepth = 2000

// tooDeep finds the first place that is nested deeper than maxDepth. What a
// token is nested in are the open brackets and, as each could nest the next
// (a: b: c: …, !!!x, 1+1+1+…), the tokens since the last comma or new line in
// each of them.
func tooDeep(src source) (Pos, bool) {
	file := token.NewFile(src.name, -1, len(src.data))
	var s scanner.Scanner
	s.Init(file, src.data, func(token.Pos, string, []interface{}) {}, 0)

	depth := 0
	var open []level // the brackets around the token
	base := 0        // the depth at the innermost of them
	for {
		pos, tok, _ := s.Scan()
		switch tok {
		case token.EOF:
			return Pos{}, false
		case token.COMMA:
			depth = base
			continue
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
			open = append(open, level{base: base})
			base = depth
		case token.INTERPOLATION:
			// "…\(" comes as one token, and its parenthesis as another.
			depth++
			if _, next, _ := s.Scan(); next == token.LPAREN {
				open = append(open, level{base: base, interpolation: true})
				base = depth
			}
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if len(open) == 0 {
				return Pos{}, false // for the parser to report
			}
			last := open[len(open)-1]
			open = open[:len(open)-1]
			depth, base = base, last.base
			if last.interpolation {
				if tok != token.RPAREN {
					return Pos{}, false
				}
				if lit := s.ResumeInterpolation(); strings.HasSuffix(lit, "(") {
					if _, next, _ := s.Scan(); next == token.LPAREN {
						open = append(open, level{base: base, interpolation: true})
						base = depth
					}
				}
			}
		default:
			depth++
		}
		if depth > maxDepth {
			return position(pos), true
		}
	}
}

type level struct {
	base          int
	interpolation bool
}

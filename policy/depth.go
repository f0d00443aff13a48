package policy

import (
	"strings"

	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"
)

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

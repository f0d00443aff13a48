package policy

import (
	"fmt"
	"regexp"
	resyntax "regexp/syntax"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// packageName is the package of every policy file, written or not: files of
// one package see each other's fields.
const packageName = "policy"

// importable are CUE's own packages that a policy may import. All compute from
// what they are given; CUE's others read files, run programs and ask servers
// (tool/...), or expand templates.
var importable = map[string]bool{
	"crypto/ed25519": true, "crypto/hmac": true, "crypto/md5": true, "crypto/sha1": true,
	"crypto/sha256": true, "crypto/sha512": true,
	"encoding/base64": true, "encoding/csv": true, "encoding/hex": true, "encoding/json": true,
	"encoding/toml": true, "encoding/yaml": true,
	"html": true, "list": true, "math": true, "math/bits": true, "net": true, "path": true,
	"regexp": true, "strconv": true, "strings": true, "struct": true, "time": true, "uuid": true,
}

// syntax is the parsed files of a policy and the places in them that CUE's
// values do not keep.
type syntax struct {
	files  []*ast.File
	order  map[string]int // of the files' names
	labels []label        // of the fields, as numbered by their attribute
	marks  map[Pos]mark   // of the patterns, by where their expressions begin
	terms  vocabulary     // of names of arguments
}

// A label is where a field's name, or the bracket of a pattern, begins.
type label struct {
	Pos
	pattern bool
	bare    bool // the value is {}
}

// A mark is a pattern as written: where its bracket is, and its expression.
type mark struct {
	Pos
	text  string
	alias bool // what it is for can refer to the name
}

// fieldAttr is the attribute that each field of a policy gets: the number of
// its label's position. Attributes stay with a field through references and
// unification, whereas positions of a value that several places add to are
// not told apart by CUE.
const fieldAttr = "pos"

// A fileParser reads files as CUE, and collects mistakes.
type fileParser struct {
	*syntax
	errs Errors
}

// parse reads the sources as CUE and refuses what a policy may not use.
func parse(sources []source) (*syntax, Errors) {
	s := &fileParser{syntax: &syntax{order: map[string]int{}, marks: map[Pos]mark{}, terms: vocabulary{words: map[string]bool{}, refers: map[string][]reference{}, frames: map[string][]reference{}}}}
	for i, src := range sources {
		s.order[src.name] = i
		if pos, ok := tooDeep(src); ok {
			s.errs = append(s.errs, Error{Pos: pos, Message: fmt.Sprintf("nested deeper, or longer without a comma or new line, than %d", maxDepth)})
			continue
		}
		f, err := parser.ParseFile(src.name, src.data, parser.ParseComments, parser.AllErrors)
		if err != nil {
			for _, e := range errors.Errors(err) {
				s.add(e.Position(), "%s", oneLine(e.Error()))
			}
			continue
		}
		s.check(f, src.data)
		s.files = append(s.files, f)
	}
	s.terms.outer = s.terms.closed()
	if at, ok := s.terms.loop(); ok && len(s.errs) == 0 {
		s.errs = append(s.errs, Error{Pos: at, Message: "a rule for arguments cannot refer to itself: how long a check takes would have no bound"})
	}
	return s.syntax, s.errs
}

func (s *fileParser) add(pos token.Pos, format string, args ...any) {
	s.errs = append(s.errs, Error{Pos: position(pos), Message: fmt.Sprintf(format, args...)})
}

// check refuses what a policy may not use, gives every field its attribute and
// the file its package.
func (s *fileParser) check(f *ast.File, data []byte) {
	named := false
	imports := map[string]string{}
	for _, d := range f.Decls {
		if field, ok := d.(*ast.Field); ok {
			if name, _, err := ast.LabelName(field.Label); err == nil && name == schemaName {
				s.add(field.Pos(), "%s is the schema's, which is not part of a policy: keep it in the folder above", schemaName)
			}
		}
	}
	inside := 0 // what can be part of a rule for arguments
	ast.Walk(f, func(n ast.Node) bool {
		if ofArgs(n) {
			inside++
		}
		s.terms.learn(n, imports, inside > 0)
		switch n := n.(type) {
		case *ast.Package:
			named = true
			if n.Name != nil && n.Name.Name != packageName {
				s.add(n.Name.Pos(), "package %s: a policy is in package %s, or in none", n.Name.Name, packageName)
			}
		case *ast.ImportSpec:
			s.checkImport(n, imports)
			return false
		case *ast.CallExpr:
			s.checkCall(n, imports)
		case *ast.BinaryExpr:
			s.checkTimes(n)
		case *ast.Attribute:
			s.add(n.Pos(), "attribute @%s: a policy has no attributes", n.Name())
			return false
		case *ast.UnaryExpr:
			s.checkRegexp(n)
		case *ast.Field:
			if list, ok := n.Label.(*ast.ListLit); ok && len(list.Elts) == 1 {
				s.mark(list.Pos(), list.Elts[0], data)
			}
		}
		return true
	}, func(n ast.Node) {
		if ofArgs(n) {
			inside--
		}
		// Once its children are walked, or the attribute would be refused.
		if n, ok := n.(*ast.Field); ok {
			n.Attrs = []*ast.Attribute{{Text: fmt.Sprintf("@%s(%d)", fieldAttr, len(s.labels))}}
			_, pattern := n.Label.(*ast.ListLit)
			value, _ := n.Value.(*ast.StructLit)
			s.labels = append(s.labels, label{position(n.Pos()), pattern, value != nil && len(value.Elts) == 0})
		}
	})
	for _, d := range f.Decls {
		if !ofArgs(d) {
			s.terms.within(s.terms.frames, "", d, false)
		}
	}
	if !named {
		f.Decls = append([]ast.Decl{&ast.Package{Name: ast.NewIdent(packageName)}}, f.Decls...)
	}
}

// mark remembers a pattern.
func (s *syntax) mark(bracket token.Pos, expr ast.Expr, data []byte) {
	alias, named := expr.(*ast.Alias)
	if named {
		expr = alias.Expr
	}
	from, to := expr.Pos().Offset(), expr.End().Offset()
	if from < 0 || to > len(data) || from > to {
		return
	}
	s.marks[position(expr.Pos())] = mark{position(bracket), oneLine(string(data[from:to])), named}
}

// checkRegexp finds bad regular expressions before CUE does, which would say
// nothing more of the struct around them.
func (s *fileParser) checkRegexp(n *ast.UnaryExpr) {
	lit, ok := n.X.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING || n.Op != token.MAT && n.Op != token.NMAT {
		return
	}
	expr, err := literal.Unquote(lit.Value)
	if err != nil {
		return // for CUE to report
	}
	if bad := regexpMistake(expr); bad != "" {
		s.add(lit.Pos(), "%s", bad)
	}
}

func regexpMistake(expr string) string {
	var bad *resyntax.Error
	if _, err := regexp.Compile(expr); errors.As(err, &bad) {
		return fmt.Sprintf("invalid pattern %q: %s", clip(expr), bad.Code)
	}
	return ""
}

func (s *fileParser) checkImport(spec *ast.ImportSpec, imports map[string]string) {
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		s.add(spec.Path.Pos(), "import %s: not a quoted path", spec.Path.Value)
		return
	}
	name, _, _ := strings.Cut(path, ":")
	switch {
	case importable[name] && spec.Name != nil:
		imports[spec.Name.Name] = name
	case importable[name]:
		imports[name[strings.LastIndex(name, "/")+1:]] = name
	case name == "tool" || strings.HasPrefix(name, "tool/"):
		s.add(spec.Path.Pos(), "import %q: loading a policy runs nothing and reads nothing else, so tool packages are refused", path)
	default:
		s.add(spec.Path.Pos(), "import %q: only CUE's own packages can be imported, such as strings, list and net", path)
	}
}

// position is where CUE's position is.
func position(p token.Pos) Pos {
	if !p.IsValid() {
		return Pos{}
	}
	at := p.Position()
	return Pos{File: at.Filename, Line: at.Line, Col: at.Column}
}

package policy

import (
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"bridge/policy/strictjson"
)

// A vocabulary is what a policy can tell names of arguments apart by: those
// that it writes, and its patterns.
type vocabulary struct {
	words  map[string]bool
	exprs  []*regexp.Regexp
	refers map[string][]reference // by the name of what refers
	frames map[string][]reference // those outside rules for arguments; by "" for what has no name

	// Whether it does more with names than to match them, so that no name can
	// stand for another.
	reads bool

	// Whether what a rule has can depend on what is sent.
	depends bool

	// Whether definitions are used further out than in rules for arguments, and
	// can close what is in these.
	outer bool
}

// ofArgs reports whether what the node holds can be a rule for arguments: it is
// one, or it has a name of its own, by which a rule can refer to it.
func ofArgs(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.LetClause:
		return true
	case *ast.Field:
		name, _, err := ast.LabelName(n.Label)
		return err == nil && (name == "args" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#"))
	}
	return false
}

// learn takes in what a node of a policy says of names. inside tells whether it
// can be part of a rule for arguments.
func (v *vocabulary) learn(n ast.Node, imports map[string]string, inside bool) {
	if f, ok := n.(*ast.Field); ok {
		if name, _, err := ast.LabelName(f.Label); err == nil {
			v.words[name] = true
		}
	}
	if !inside {
		return
	}
	v.references(n)
	switch n := n.(type) {
	case *ast.ForClause:
		v.reads = true
	case *ast.Comprehension:
		v.depends = true
	case *ast.IndexExpr:
		if _, ok := n.Index.(*ast.BasicLit); !ok {
			v.reads = true
		}
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
			pkg, _ := sel.X.(*ast.Ident)
			path := ""
			if pkg != nil {
				path = imports[pkg.Name]
			}
			v.reads = v.reads || strings.HasPrefix(path, "encoding/") || path == "regexp"
		}
	case *ast.Field:
		switch label := n.Label.(type) {
		case *ast.Interpolation, *ast.ParenExpr:
			v.reads = true
		case *ast.ListLit:
			for _, e := range label.Elts {
				v.reads = !v.pattern(e) || v.reads
			}
		}
	}
}

// pattern takes in a pattern of names. It reports whether the vocabulary can
// tell which names it matches.
func (v *vocabulary) pattern(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return v.pattern(e.X)
	case *ast.BinaryExpr:
		return (e.Op == token.AND || e.Op == token.OR) && v.pattern(e.X) && v.pattern(e.Y)
	case *ast.Ident:
		return e.Name == "_" || e.Name == "string"
	case *ast.BasicLit:
		_, ok := v.literal(e)
		return ok
	case *ast.UnaryExpr:
		text, ok := v.literal(e.X)
		if !ok {
			return false
		}
		switch e.Op {
		case token.NEQ:
			return true
		case token.MAT, token.NMAT:
			re, err := regexp.Compile(text)
			if err == nil {
				v.exprs = append(v.exprs, re)
			}
			return err == nil
		}
	}
	return false
}

// literal is a written text, which becomes a word.
func (v *vocabulary) literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := literal.Unquote(lit.Value)
	v.words[text] = true
	return text, err == nil
}

// placeholders are the names under which CUE gets to know those of arguments that
// the policy does not write. CUE keeps every name of a field for as long as the
// process lives, and the sandbox could think of new ones without end. But names
// that match the same patterns are the same to a policy. So the first that come
// are kept and stand for all others.
type placeholders struct {
	vocabulary
	folded  map[string]int      // how many words there are that differ in case alone
	byClass map[string][]string // by the patterns that they match
	given   map[string]bool     // all of them
	kept    int                 // bytes that CUE may have kept
}

const (
	maxKept     = 32 << 20
	maxArgName  = 512
	costOfAName = 128 // bytes that CUE takes for a name, beside its text
)

// labels are the names of one call as CUE has them, where these are others:
// always the same for one name and never the same for two.
type labels struct {
	*placeholders
	of   map[string]string // by name
	sent map[string]string // the name, by label
}

// label is the name as CUE has it.
func (l *labels) label(name string) string {
	if label, ok := l.of[name]; ok {
		return label
	}
	return name
}

// name is the name that CUE has as label.
func (l *labels) name(label string) string {
	if name, ok := l.sent[label]; ok {
		return name
	}
	return label
}

// assign gives labels to the names in arguments. It is false if CUE has been
// given too many.
func (l *labels) assign(args strictjson.Object) bool {
	if l.reads {
		return true
	}
	unknown := map[string][]string{} // by class
	l.collect(args, unknown)
	for class, names := range unknown {
		known := l.byClass[class]
		var free []string // of the known, those that are not among the names
		for _, k := range known {
			if len(free) == len(names) {
				break
			}
			if _, used := l.of[k]; !used {
				free = append(free, k)
			}
		}
		for _, name := range names {
			switch {
			case l.given[name]:
				l.set(name, name)
			case len(free) > 0:
				l.set(name, free[0])
				free = free[1:]
			case !l.charge(len(name) + costOfAName):
				return false
			default:
				name = strings.Clone(name)
				l.byClass[class] = append(l.byClass[class], name)
				l.given[name] = true
				l.set(name, name)
			}
		}
	}
	return true
}

func (l *labels) set(name, label string) { l.of[name], l.sent[label] = label, name }

// collect finds the names that the policy does not write.
func (l *labels) collect(v any, unknown map[string][]string) {
	switch v := v.(type) {
	case strictjson.Object:
		for _, m := range v {
			if _, seen := l.of[m.Name]; !seen && !l.words[m.Name] {
				class := l.class(m.Name)
				unknown[class] = append(unknown[class], m.Name)
				if l.of == nil {
					l.of, l.sent = map[string]string{}, map[string]string{}
				}
				l.of[m.Name] = ""
			}
			l.collect(m.Value, unknown)
		}
	case []any:
		for _, e := range v {
			l.collect(e, unknown)
		}
	}
}

// class is which patterns the name matches.
func (l *labels) class(name string) string {
	class := make([]byte, len(l.exprs))
	for i, re := range l.exprs {
		if re.MatchString(name) {
			class[i] = 1
		}
	}
	return string(class)
}

// charge reports whether CUE may keep so many more bytes.
func (s *placeholders) charge(bytes int) bool {
	if s.kept+bytes > maxKept {
		return false
	}
	s.kept += bytes
	return true
}

// A reference is a name in a policy that refers to another part of it.
type reference struct {
	name string
	pos  Pos
}

// references takes in what a named part of the policy refers to: by its name,
// wherever it is, which is enough to tell what cannot be reached.
func (v *vocabulary) references(n ast.Node) {
	take := func(name string, e ast.Expr) {
		v.within(v.refers, name, e, true)
		v.within(v.frames, name, e, false)
	}
	switch n := n.(type) {
	case *ast.Field:
		if name, _, err := ast.LabelName(n.Label); err == nil {
			take(name, n.Value)
		}
		if alias, ok := n.Label.(*ast.Alias); ok {
			take(alias.Ident.Name, n.Value)
		}
	case *ast.LetClause:
		take(n.Ident.Name, n.Expr)
	case *ast.Alias:
		take(n.Ident.Name, n.Expr)
	}
}

// within takes the references in what has the name into a map, with args those
// in rules for arguments as well.
func (v *vocabulary) within(refers map[string][]reference, name string, n ast.Node, args bool) {
	if n == nil {
		return
	}
	take := func(id *ast.Ident) {
		refers[name] = append(refers[name], reference{id.Name, position(id.Pos())})
	}
	ast.Walk(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			take(n)
		case *ast.SelectorExpr:
			if id, ok := n.Sel.(*ast.Ident); ok && strings.HasPrefix(id.Name, "#") {
				take(id)
			}
			v.within(refers, name, n.X, args)
			return false
		case *ast.Field:
			if label, _, err := ast.LabelName(n.Label); err != nil || label != "args" || args {
				v.within(refers, name, n.Value, args)
			}
			return false
		}
		return true
	}, nil)
}

// closed reports whether definitions close what rules for arguments are in.
func (v *vocabulary) closed() bool {
	done := map[string]bool{}
	var reach func(name string) bool
	reach = func(name string) bool {
		done[name] = true
		return slices.ContainsFunc(v.frames[name], func(r reference) bool {
			return strings.HasPrefix(r.name, "#") || !done[r.name] && reach(r.name)
		})
	}
	return reach("")
}

// loop finds a rule for arguments that refers to itself. CUE can take forever to
// hold such a one against values that are deep enough, and cannot be stopped.
func (v *vocabulary) loop() (Pos, bool) {
	done := map[string]bool{}
	var open []string
	var follow func(name string) (Pos, bool)
	follow = func(name string) (Pos, bool) {
		open = append(open, name)
		defer func() { open = open[:len(open)-1] }()
		for _, r := range v.refers[name] {
			if slices.Contains(open, r.name) {
				return r.pos, true
			}
			if !done[r.name] {
				if at, found := follow(r.name); found {
					return at, true
				}
			}
		}
		done[name] = true
		return Pos{}, false
	}
	return follow("args")
}

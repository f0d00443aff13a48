package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"bridge/definition"
)

// isArgs reports whether the field at the path is a rule for arguments.
func isArgs(path []string) bool {
	return len(path) == 7 && path[6] == "args" && kind(path[:6]) == "rule"
}

// vetArgs looks for what no call can ever match in a rule for arguments, which
// the schema leaves to the policy.
func (l *loader) vetArgs(v cue.Value, path []string) {
	if kind := v.IncompleteKind(); kind != cue.BottomKind && kind&cue.StructKind == 0 {
		l.mistake(valuePos(v), path, "invalid value %s (%s, want struct)", short(v), v.IncompleteKind())
		return
	}
	n := 0
	l.vetArgument(v, path, &n)
}

// vetArgument is vetArgs for one argument, or for a part of one. n counts the
// values, of which a rule that refers to itself has no end.
func (l *loader) vetArgument(v cue.Value, path []string, n *int) {
	const most, deepest = 2000, 40
	if *n++; *n > most || len(path) > deepest {
		return
	}
	if bad := badRegexp(v); bad != "" && !l.knows(path) {
		l.mistake(valuePos(v), path, "%s", bad)
		return
	}
	switch v.IncompleteKind() {
	case cue.ListKind:
		it, err := v.List()
		for i := 0; err == nil && it.Next(); i++ {
			l.vetArgument(it.Value(), append(slices.Clip(path), strconv.Itoa(i)), n)
		}
		if e := v.LookupPath(cue.MakePath(cue.AnyIndex)); e.Exists() {
			l.vetPossible(e, append(slices.Clip(path), "[_]"), n)
		}
	case cue.StructKind, cue.BottomKind:
		it, err := v.Fields(cue.Optional(true), cue.Patterns(true))
		for err == nil && it.Next() {
			sel := it.Selector()
			if sel.ConstraintType() == cue.PatternConstraint {
				p := l.pattern(sel.Pattern())
				at := append(slices.Clip(path), p.written)
				if bad := badRegexp(sel.Pattern()); bad != "" {
					l.mistake(p.Pos, at, "%s", bad)
				}
				l.vetPossible(it.Value(), at, n)
				continue
			}
			at := append(slices.Clip(path), sel.Unquoted())
			if sel.ConstraintType() == cue.OptionalConstraint {
				l.vetPossible(it.Value(), at, n)
				continue
			}
			if err := impossible(it.Value()); err != nil {
				if !l.knows(at) {
					l.report(err, at)
				}
				continue
			}
			l.vetArgument(it.Value(), at, n)
		}
	}
}

// vetPossible finds what no value can be, in a place where none need be: there
// _|_ says that none may be.
func (l *loader) vetPossible(v cue.Value, path []string, n *int) {
	err := impossible(v)
	switch {
	case err == nil:
		l.vetArgument(v, path, n)
	case !strings.Contains(err.Error(), "explicit error (_|_ literal)") && !l.knows(path):
		l.report(err, path)
	}
}

// impossible is why no value can be v. A struct that has itself as an optional
// field is possible, though CUE cannot say what that field is by itself.
func impossible(v cue.Value) error {
	if err := v.Validate(); err != nil && !strings.Contains(err.Error(), "structural cycle") {
		return err
	}
	return nil
}

// arguments holds what a rule says of arguments against those that the tools
// have. A rule for several tools is mistaken only in what is so for each. Of a
// tool's own rule, what a pattern adds is the pattern's.
func (v *live) arguments(rule string, value cue.Value, tools []definition.Tool, own bool) {
	var common []issue
	for i, t := range tools {
		var schema map[string]any
		if json.Unmarshal(t.InputSchema, &schema) != nil {
			return
		}
		c := argumentCheck{live: v, root: schema, own: own}
		c.object(lookup(value, "args"), schema, []string{"args"})
		for name, sum := range fields(value, "sum") {
			c.sum(name, sum, schema)
		}
		if i == 0 {
			common = c.issues
			continue
		}
		common = both(common, c.issues)
	}
	for _, is := range common {
		message := is.message
		if is.unknown && len(tools) > 1 {
			message = "none of the tools that it matches has such an argument"
		}
		v.say(&v.mistakes, is.pos, append([]string{rule}, is.path...), "%s", message)
	}
}

// An issue is what is wrong with a field of a rule, at its path.
type issue struct {
	pos     Pos
	path    []string
	unknown bool   // the tool has no such argument
	needs   string // the argument that the rule does not let through, if that is what is wrong
	message string
}

// both are the issues in both lists. That an argument is never right for one
// tool says more than that another does not have it.
func both(a, b []issue) []issue {
	var list []issue
	for _, is := range a {
		i := slices.IndexFunc(b, func(other issue) bool { return slices.Equal(is.path, other.path) && is.needs == other.needs })
		switch {
		case i < 0:
		case is.unknown:
			list = append(list, b[i])
		default:
			list = append(list, is)
		}
	}
	return list
}

// maxRefs bounds how often one schema refers to the next.
const maxRefs = 16

// argumentCheck holds rules for arguments against the schema of a tool's.
type argumentCheck struct {
	*live
	root   map[string]any
	own    bool
	issues []issue
}

func (c *argumentCheck) add(is issue) { c.issues = append(c.issues, is) }

// object checks the fields of a struct against the properties of an object.
func (c *argumentCheck) object(v cue.Value, schema map[string]any, path []string) {
	schema = c.resolve(schema)
	if !v.Exists() || schema == nil || len(path) > maxRefs {
		return // both can refer to themselves without end
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var denied []string // what the rule lets no call have
	it, err := v.Fields(cue.Optional(true))
	if err != nil {
		return
	}
	for it.Next() {
		if !it.Selector().IsString() {
			continue
		}
		name, field := it.Selector().Unquoted(), it.Value()
		at := append(slices.Clip(path), name)
		if c.own && !slices.ContainsFunc(c.labelsOf(field), func(l label) bool { return !l.pattern }) {
			continue
		}
		property, ok := properties[name]
		inner, _ := property.(map[string]any)
		switch {
		case field.IncompleteKind() == cue.BottomKind && it.Selector().ConstraintType() == cue.OptionalConstraint:
			denied = append(denied, name)
		case inner != nil:
			c.value(field, inner, at)
		case !ok && fixed(schema) && !slices.Contains(required, any(name)):
			c.unknown(field, at, properties)
		}
	}
	for _, r := range required {
		if name, ok := r.(string); ok && (!v.Allows(cue.Str(name)) || slices.Contains(denied, name)) {
			c.add(issue{pos: c.posOf(v), path: path, needs: name, message: fmt.Sprintf("the tool requires %q, which the rule does not let through", name)})
		}
	}
}

// unknown is about an argument that the tool does not have.
func (c *argumentCheck) unknown(v cue.Value, path []string, properties map[string]any) {
	names := sortedKeys(properties)
	has := "it has none"
	if len(names) > 0 {
		has = "arguments: " + clip(strings.Join(names, ", "))
	}
	c.add(issue{pos: c.posOf(v), path: path, unknown: true, message: fmt.Sprintf("the tool has no such argument; %s%s", has, DidYouMean(path[len(path)-1], names))})
}

// fixed reports whether an object has no properties but those that are named.
// JSON Schema lets it have others unless told; tools do not mean that.
func fixed(schema map[string]any) bool {
	for _, open := range []string{"patternProperties", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependentRequired", "dependencies", "$ref", "$dynamicRef"} {
		if _, ok := schema[open]; ok {
			return false
		}
	}
	others, given := schema["additionalProperties"]
	return !given || others == false
}

// value checks one argument, or a field of one.
func (c *argumentCheck) value(v cue.Value, schema map[string]any, path []string) {
	schema = c.resolve(schema)
	if schema == nil {
		return
	}
	kinds, names := kindsOf(schema)
	never := func(format string, args ...any) {
		c.add(issue{pos: valuePos(v), path: path, message: "it is never met: " + fmt.Sprintf(format, args...)})
	}
	if kinds != cue.BottomKind && v.IncompleteKind()&kinds == cue.BottomKind {
		never("the argument is of type %s, and the rule wants %s", strings.Join(names, " or "), v.IncompleteKind())
		return
	}
	if values, ok := schema["enum"].([]any); ok && len(values) > 0 {
		if !slices.ContainsFunc(values, func(one any) bool { return v.Unify(c.ctx.Encode(whole(one))).Validate(cue.Concrete(true)) == nil }) {
			never("the argument is one of %s", clip(oneLine(jsonList(values))))
		}
		return
	}
	for _, limit := range [][2]string{{"minimum", ">="}, {"maximum", "<="}, {"exclusiveMinimum", ">"}, {"exclusiveMaximum", "<"}} {
		if n, ok := schema[limit[0]].(float64); ok && v.IncompleteKind()&cue.NumberKind != 0 {
			bound := limit[1] + plainNumber(n)
			if v.Unify(c.ctx.CompileString(bound)).Validate() != nil {
				never("the argument is %s", bound)
				return
			}
		}
	}
	if v.IncompleteKind() == cue.StructKind {
		c.object(v, schema, path)
	}
}

// sum checks an argument whose values are added up.
func (c *argumentCheck) sum(name string, sum cue.Value, schema map[string]any) {
	schema = c.resolve(schema)
	properties, _ := schema["properties"].(map[string]any)
	property, ok := properties[name].(map[string]any)
	path := []string{"sum", name}
	if !ok {
		if _, there := properties[name]; !there && fixed(schema) {
			c.unknown(sum, path, properties)
		}
		return
	}
	if kinds, names := kindsOf(c.resolve(property)); kinds != cue.BottomKind && kinds&cue.NumberKind == cue.BottomKind {
		c.add(issue{pos: c.posOf(sum), path: path, message: fmt.Sprintf("the argument is of type %s, and only numbers have a sum", strings.Join(names, " or "))})
	}
}

// resolve is the schema that another one refers to within the tool's own, or
// nil if it cannot be found.
func (c *argumentCheck) resolve(schema map[string]any) map[string]any {
	for range maxRefs {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		rest, ok := strings.CutPrefix(ref, "#/")
		if !ok {
			return nil
		}
		schema = c.root
		for _, part := range strings.Split(rest, "/") {
			part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
			if schema, ok = schema[part].(map[string]any); !ok {
				return nil
			}
		}
	}
	return nil
}

// kindsOf are the kinds of values that a schema's type lets be, or none if it
// has no type that is known.
func kindsOf(schema map[string]any) (cue.Kind, []string) {
	var names []string
	switch t := schema["type"].(type) {
	case string:
		names = []string{t}
	case []any:
		for _, one := range t {
			name, _ := one.(string)
			names = append(names, name)
		}
	}
	kinds := cue.BottomKind
	for _, name := range names {
		kind, ok := map[string]cue.Kind{
			"null": cue.NullKind, "boolean": cue.BoolKind, "string": cue.StringKind, "integer": cue.NumberKind,
			"number": cue.NumberKind, "array": cue.ListKind, "object": cue.StructKind,
		}[name]
		if !ok {
			return cue.BottomKind, nil
		}
		kinds |= kind
	}
	return kinds, names
}

// whole is a number of JSON without a fraction as an int, which it is for a
// rule, and any other value as it is.
func whole(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return v
}

func jsonList(values []any) string {
	var texts []string
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			continue
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, ", ")
}

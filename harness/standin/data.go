package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	cuejson "cuelang.org/go/encoding/json"
)

// data is a stand-in in CUE or JSON: tools by name, or a list of them as
// tools/list gives it. Of each tool, result or error is what it answers; in CUE
// that may use args, which are the arguments of the call. One with neither
// answers with its arguments. Resources are by their URIs, each a text or what
// resources/read gives of one.
type data struct {
	list []definition
	read []resource

	mu     sync.Mutex // guards the values, which CUE evaluates as they are used
	ctx    *cue.Context
	values map[string]cue.Value // by the name of the tool
}

// answers are the fields of a tool that are not part of its definition.
var answers = map[string]bool{"args": true, "result": true, "error": true}

func readData(file string) (*data, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := &data{ctx: cuecontext.New(), values: map[string]cue.Value{}}
	var v cue.Value
	if filepath.Ext(file) == ".json" {
		expr, err := cuejson.Extract(file, text)
		if err != nil {
			return nil, worded(err)
		}
		v = d.ctx.BuildExpr(expr)
	} else {
		v = d.ctx.CompileBytes(text, cue.Filename(file))
	}
	if err := v.Err(); err != nil {
		return nil, worded(err)
	}
	tools := v.LookupPath(cue.ParsePath("tools"))
	resources := v.LookupPath(cue.ParsePath("resources"))
	if !tools.Exists() && !resources.Exists() {
		return nil, fmt.Errorf("%s: no tools: write tools: {NAME: {result: …}}", file)
	}
	if err := d.take(tools); tools.Exists() && err != nil {
		return nil, worded(err)
	}
	if err := d.takeResources(resources); err != nil {
		return nil, worded(err)
	}
	return d, nil
}

// takeResources takes in the resources, if there are any.
func (d *data) takeResources(resources cue.Value) error {
	if !resources.Exists() {
		return nil
	}
	fields, err := resources.Fields()
	if err != nil {
		return err
	}
	for fields.Next() {
		r := resource{MIMEType: "text/plain"}
		if text, err := fields.Value().String(); err == nil {
			r.Text = &text
		} else if err := fields.Value().Decode(&r); err != nil {
			return err
		}
		r.URI = fields.Selector().Unquoted()
		d.read = append(d.read, r)
	}
	return nil
}

// take takes in the tools.
func (d *data) take(tools cue.Value) error {
	if list, err := tools.List(); err == nil {
		for list.Next() {
			name, err := list.Value().LookupPath(cue.ParsePath("name")).String()
			if err != nil {
				return err
			}
			if err := d.add(name, list.Value()); err != nil {
				return err
			}
		}
		return nil
	}
	fields, err := tools.Fields()
	if err != nil {
		return err
	}
	for fields.Next() {
		if err := d.add(fields.Selector().Unquoted(), fields.Value()); err != nil {
			return err
		}
	}
	return nil
}

func (d *data) add(name string, tool cue.Value) error {
	def := map[string]any{}
	fields, err := tool.Fields()
	if err != nil {
		return err
	}
	for fields.Next() {
		if key := fields.Selector().Unquoted(); !answers[key] {
			text, err := fields.Value().MarshalJSON()
			if err != nil {
				return err
			}
			def[key] = json.RawMessage(text)
		}
	}
	def["name"] = name
	if def["inputSchema"] == nil {
		def["inputSchema"] = inputSchema(tool.LookupPath(cue.ParsePath("args")))
	}
	text, err := json.Marshal(def)
	if err != nil {
		return err
	}
	d.list = append(d.list, definition{name, text})
	d.values[name] = tool
	return nil
}

// inputSchema is what a tool's args say of its arguments.
func inputSchema(args cue.Value) object {
	properties, required := object{}, []string{}
	fields, err := args.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		name := fields.Selector().Unquoted()
		properties[name] = property(fields.Value())
		if _, hasDefault := fields.Value().Default(); !fields.IsOptional() && !hasDefault {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

func property(v cue.Value) object {
	types := map[cue.Kind]string{
		cue.StringKind: "string", cue.IntKind: "integer", cue.NumberKind: "number", cue.FloatKind: "number",
		cue.BoolKind: "boolean", cue.ListKind: "array", cue.StructKind: "object",
	}
	if t := types[v.IncompleteKind()]; t != "" {
		return object{"type": t}
	}
	return object{}
}

func (d *data) tools() []definition { return d.list }

func (d *data) resources() []resource { return d.read }

func (d *data) call(_ context.Context, tool string, args json.RawMessage) (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	expr, err := cuejson.Extract("arguments", args)
	if err != nil {
		return nil, err
	}
	v := d.values[tool].FillPath(cue.ParsePath("args"), d.ctx.BuildExpr(expr))
	if err := v.LookupPath(cue.ParsePath("args")).Validate(cue.Concrete(true)); err != nil {
		return nil, err
	}
	if failure := v.LookupPath(cue.ParsePath("error")); failure.Exists() {
		text, err := failure.String()
		if err != nil {
			return nil, err
		}
		return nil, errors.New(text)
	}
	answer := v.LookupPath(cue.ParsePath("result"))
	if !answer.Exists() {
		return args, nil
	}
	text, err := answer.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return text, nil
}

func (d *data) close() {}

// worded is a mistake in the file, with its place.
func worded(err error) error {
	return errors.New(strings.TrimSpace(cueerrors.Details(err, nil)))
}

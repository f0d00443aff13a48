// Package toon writes values in the Token-Oriented Object Notation, version 3.3
// of its specification: indentation and commas in place of JSON's punctuation,
// and the names of fields once for a table of like objects. It only writes, with
// the options that the specification has by default: two spaces, commas, no
// folding of keys.
package toon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Marshal returns v as TOON. What of v is written, and how, is as in
// encoding/json; fields keep their order and numbers their digits. Lines have
// no newline at the end.
func Marshal(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	value, err := read(d)
	if err != nil {
		return "", err
	}
	var w writer
	switch value := value.(type) {
	case object:
		w.fields(value, 0)
	case array:
		w.array("", value, 0)
	default:
		w.line(0, primitive(value))
	}
	return strings.TrimSuffix(w.String(), "\n"), nil
}

// An object keeps its fields in order.
type object []field

type field struct {
	name  string
	value any
}

type array []any

// read returns the next value: an object, an array, or a primitive.
func read(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := array{}
		for d.More() {
			v, err := read(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := read(d)
			if err != nil {
				return nil, err
			}
			o = append(o, field{name.(string), v})
		}
		_, err = d.Token()
		return o, err
	}
	return token, nil
}

// A writer builds the lines.
type writer struct{ strings.Builder }

func (w *writer) line(depth int, text string) {
	for range depth {
		w.WriteString("  ")
	}
	w.WriteString(text)
	w.WriteByte('\n')
}

// fields writes those of an object, each on lines of its own.
func (w *writer) fields(o object, depth int) {
	for _, f := range o {
		w.field("", f, depth, depth)
	}
}

// field writes one field with its name after mark, at depth. What belongs to it
// is one deeper than inner, which differs on the line of a list's item.
func (w *writer) field(mark string, f field, depth, inner int) {
	name := mark + key(f.name)
	switch v := f.value.(type) {
	case object:
		w.line(depth, name+":")
		w.fields(v, inner+1)
	case array:
		if len(v) == 0 {
			w.line(depth, name+": []")
			return
		}
		w.elements(name, v, columns(v), depth, inner)
	default:
		w.line(depth, name+": "+primitive(v))
	}
}

// array writes an array that has no field's name: the root, or an item, which
// has a mark before it and no place for the names of a table.
func (w *writer) array(mark string, list array, depth int) {
	if len(list) == 0 && mark == "" {
		w.line(depth, "[]")
		return
	}
	var names []string
	if mark == "" {
		names = columns(list)
	}
	w.elements(mark, list, names, depth, depth)
}

// elements writes an array below its name, with the names of its columns if it
// is a table.
func (w *writer) elements(name string, list array, names []string, depth, inner int) {
	header := fmt.Sprintf("%s[%d]", name, len(list))
	switch {
	case len(list) == 0:
		w.line(depth, header+":")
	case flat(list):
		w.line(depth, header+": "+row(list))
	case names != nil:
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = key(n)
		}
		w.line(depth, header+"{"+strings.Join(quoted, ",")+"}:")
		for _, o := range list {
			w.line(inner+1, row(cells(o.(object), names)))
		}
	default:
		w.line(depth, header+":")
		for _, v := range list {
			w.item(v, inner+1)
		}
	}
}

// item writes one element of a list.
func (w *writer) item(v any, depth int) {
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			w.line(depth, "-")
			return
		}
		// The fields are one deeper than the hyphen, the first beside it.
		w.field("- ", v[0], depth, depth+1)
		w.fields(v[1:], depth+1)
	case array:
		w.array("- ", v, depth)
	default:
		w.line(depth, "- "+primitive(v))
	}
}

// flat tells whether all elements are primitives.
func flat(list array) bool {
	for _, v := range list {
		switch v.(type) {
		case object, array:
			return false
		}
	}
	return true
}

// columns are the names of fields that all elements have, if these are objects
// with the same names and only primitives; else nil.
func columns(list array) []string {
	var names []string
	for i, v := range list {
		o, ok := v.(object)
		if !ok || len(o) == 0 {
			return nil
		}
		for _, f := range o {
			if !flat(array{f.value}) {
				return nil
			}
			if i == 0 {
				names = append(names, f.name)
			}
		}
		if len(o) != len(names) || cells(o, names) == nil {
			return nil
		}
	}
	return names
}

// cells are the values of the fields with these names, nil if one is not there.
func cells(o object, names []string) array {
	list := make(array, len(names))
	for i, n := range names {
		found := false
		for _, f := range o {
			if f.name == n {
				list[i], found = f.value, true
			}
		}
		if !found {
			return nil
		}
	}
	return list
}

func row(list array) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = primitive(v)
	}
	return strings.Join(parts, ",")
}

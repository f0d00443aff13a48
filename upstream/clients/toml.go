package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads TOML. Only tables know their places.
func parseTOML(text []byte) (node, *mistake) {
	var root map[string]any
	if err := toml.Unmarshal(text, &root); err != nil {
		m := &mistake{message: strings.TrimPrefix(err.Error(), "toml: ")}
		var where *toml.DecodeError
		if errors.As(err, &where) {
			m.line, m.col = where.Position()
		}
		return node{}, m
	}
	tree := fromTOML(root)
	tree.locate(tables(text))
	return tree, nil
}

func fromTOML(v any) node {
	switch v := v.(type) {
	case map[string]any:
		list := []field{}
		for name, value := range v {
			list = append(list, field{name: name, node: fromTOML(value)})
		}
		return node{value: list}
	case []any:
		list := []node{}
		for _, element := range v {
			list = append(list, fromTOML(element))
		}
		return node{value: list}
	case string, bool:
		return node{value: v}
	case int64, float64:
		return node{value: json.Number(fmt.Sprint(v))}
	}
	return node{value: fmt.Sprint(v)} // a time
}

// table is where [a.b] or a.b = … stands.
type table struct {
	path      []string
	line, col int
}

// tables lists the keys of a text in their order. The text is known to be
// right.
func tables(text []byte) []table {
	var list []table
	var p unstable.Parser
	p.Reset(text)
	var within []string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable && e.Kind != unstable.KeyValue {
			continue
		}
		var path []string
		var at unstable.Position
		for key := e.Key(); key.Next(); {
			if len(path) == 0 {
				at = p.Shape(key.Node().Raw).Start
			}
			path = append(path, string(key.Node().Data))
		}
		if e.Kind == unstable.KeyValue {
			path = append(slices.Clone(within), path...)
		} else {
			within = path
		}
		// Of a.b.c each part is said to be here, if it was not before.
		for n := 1; n <= len(path); n++ {
			list = append(list, table{path[:n], at.Line, at.Column})
		}
	}
	return list
}

// locate gives the fields of a tree their places and their order.
func (root node) locate(list []table) {
	for _, t := range slices.Backward(list) {
		n := root
		for i, name := range t.path {
			fields, _ := n.value.([]field)
			k := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
			if k < 0 {
				break
			}
			if i == len(t.path)-1 {
				fields[k].line, fields[k].col = t.line, t.col
			}
			n = fields[k].node
		}
	}
	order(root)
}

// order sorts the fields of tables by their places.
func order(n node) {
	fields, _ := n.value.([]field)
	slices.SortStableFunc(fields, func(a, b field) int {
		if a.line != b.line {
			return a.line - b.line
		}
		if a.col != b.col {
			return a.col - b.col
		}
		if a.name < b.name {
			return -1
		}
		return 1
	})
	for _, f := range fields {
		order(f.node)
	}
}

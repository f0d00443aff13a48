package clients

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// node is a value of a configuration, whatever its format: nil, a bool, a
// json.Number, a string, a []node or a []field. It remembers its place.
type node struct {
	value any
	line  int
	col   int
}

// field is one of an object's.
type field struct {
	name string
	node
	line int // of the name
	col  int
}

// mistake is why a file cannot be read.
type mistake struct {
	line, col int
	message   string
}

// get is a field of an object. Of several with the same name the last counts,
// as clients have it. Names are as written.
func (n node) get(name string) (node, bool) {
	fields, _ := n.value.([]field)
	for i := len(fields) - 1; i >= 0; i-- {
		if fields[i].name == name {
			return fields[i].node, true
		}
	}
	return node{}, false
}

// first is the first of some fields that is there and not null.
func (n node) first(names ...string) (node, bool) {
	for _, name := range names {
		if v, ok := n.get(name); ok && v.value != nil {
			return v, true
		}
	}
	return node{}, false
}

// at follows a path of fields.
func (n node) at(path ...string) (node, bool) {
	for _, name := range path {
		var ok bool
		if n, ok = n.get(name); !ok {
			return node{}, false
		}
	}
	return n, true
}

// fields are an object's, of which a name that comes twice counts once.
func (n node) fields() []field {
	list, _ := n.value.([]field)
	var once []field
	seen := map[string]int{}
	for _, f := range list {
		if i, twice := seen[f.name]; twice {
			once[i] = f
			continue
		}
		seen[f.name] = len(once)
		once = append(once, f)
	}
	return once
}

func (n node) text() string {
	s, _ := n.value.(string)
	return s
}

// scalar is the text of a string, a number or a boolean.
func (n node) scalar() (string, bool) {
	switch v := n.value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// lines are where the lines of a text begin.
type lines []int

func newLines(text []byte) lines {
	l := lines{0}
	for i, b := range text {
		if b == '\n' {
			l = append(l, i+1)
		}
	}
	return l
}

// at is the place of a byte, in lines and columns that begin at 1; a column is a
// byte, as in the messages of CUE and Go.
func (l lines) at(offset int) (line, col int) {
	low, high := 0, len(l)
	for high-low > 1 {
		if middle := (low + high) / 2; l[middle] <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	return low + 1, offset - l[low] + 1
}

// hujsonPlace is how hujson's messages begin.
var hujsonPlace = regexp.MustCompile(`^hujson: line (\d+), column (\d+): `)

// maxDepth bounds how deep a configuration may be nested.
const maxDepth = 200

// parseJSON reads JSON with comments and trailing commas.
func parseJSON(text []byte) (node, *mistake) {
	if len(text) >= 3 && string(text[:3]) == "\ufeff" {
		text = append([]byte("   "), text[3:]...) // the mark that some editors on Windows write
	}
	if deep(text) {
		return node{}, &mistake{0, 0, "nested too deeply"}
	}
	if !utf8.Valid(text) {
		return node{}, &mistake{0, 0, "not UTF-8"}
	}
	root, err := hujson.Parse(text)
	if err != nil {
		m := &mistake{message: err.Error()}
		if place := hujsonPlace.FindStringSubmatch(m.message); place != nil {
			m.line, _ = strconv.Atoi(place[1])
			m.col, _ = strconv.Atoi(place[2])
			m.message = m.message[len(place[0]):]
		}
		// What it is may be a secret that somebody forgot to quote.
		if strings.HasPrefix(m.message, "invalid literal") {
			m.message = "invalid literal"
		}
		return node{}, m
	}
	return fromJSON(root, newLines(text)), nil
}

// deep tells whether brackets go deeper than is read. Those in strings count:
// there is no harm in that.
func deep(text []byte) bool {
	depth := 0
	for _, b := range text {
		switch b {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return false
}

func fromJSON(v hujson.Value, l lines) node {
	n := node{}
	n.line, n.col = l.at(v.StartOffset)
	switch value := v.Value.(type) {
	case *hujson.Object:
		list := []field{}
		for _, member := range value.Members {
			f := field{node: fromJSON(member.Value, l)}
			f.name = literal(member.Name.Value)
			f.line, f.col = l.at(member.Name.StartOffset)
			list = append(list, f)
		}
		n.value = list
	case *hujson.Array:
		list := []node{}
		for _, element := range value.Elements {
			list = append(list, fromJSON(element, l))
		}
		n.value = list
	case hujson.Literal:
		switch value.Kind() {
		case '"':
			n.value = value.String()
		case '0':
			n.value = json.Number(string(value))
		case 't', 'f':
			n.value = value.Bool()
		}
	}
	return n
}

func literal(v hujson.ValueTrimmed) string {
	l, _ := v.(hujson.Literal)
	return l.String()
}

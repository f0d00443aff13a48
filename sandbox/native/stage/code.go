package stage

import "errors"

// A coder writes or reads values in a fixed order: one function names the
// fields for both directions, so that the two cannot differ. The parent and
// the stage are the same program, so there is nothing to be compatible with.
// encoding/json would do, but for the packages it needs: see the stage's init.
type coder struct {
	b       []byte
	reading bool
	short   bool // there was less to read than wanted
}

type coded interface{ code(*coder) }

var errShort = errors.New("the message is cut off")

// Encode is the encoding of a Config or a Failure.
func Encode(v coded) []byte {
	var x coder
	v.code(&x)
	return x.b
}

// Decode is the inverse of Encode.
func Decode(b []byte, v coded) error {
	x := coder{b: b, reading: true}
	v.code(&x)
	if x.short {
		return errShort
	}
	return nil
}

// NumberSize is the number of bytes that a number takes.
const NumberSize = 8

// EncodeNumber is the encoding of a number by itself.
func EncodeNumber(n uint64) []byte {
	var x coder
	x.number(&n)
	return x.b
}

func decodeNumber(b []byte) (n uint64) {
	x := coder{b: b, reading: true}
	x.number(&n)
	return n
}

func (x *coder) number(n *uint64) {
	if !x.reading {
		for shift := 0; shift < 8*NumberSize; shift += 8 {
			x.b = append(x.b, byte(*n>>shift))
		}
		return
	}
	*n = 0
	for i, b := range x.take(NumberSize) {
		*n |= uint64(b) << (8 * i)
	}
}

func (x *coder) text(s *string) {
	n := uint64(len(*s))
	x.number(&n)
	if x.reading {
		*s = string(x.take(n))
	} else {
		x.b = append(x.b, *s...)
	}
}

func (x *coder) flag(f *bool) {
	n := uint64(0)
	if *f {
		n = 1
	}
	x.number(&n)
	*f = n == 1
}

// each codes a list. Every element takes at least a number, which bounds what
// a wrong length can ask for.
func each[T any](x *coder, list *[]T, element func(*T)) {
	n := uint64(len(*list))
	x.number(&n)
	if x.reading {
		if n > uint64(len(x.b)/NumberSize) {
			x.short = true
			return
		}
		*list = nil
		if n > 0 {
			*list = make([]T, n)
		}
	}
	for i := range *list {
		element(&(*list)[i])
	}
}

func (x *coder) take(n uint64) []byte {
	if n > uint64(len(x.b)) {
		x.short, x.b = true, nil
		return nil
	}
	taken := x.b[:n]
	x.b = x.b[n:]
	return taken
}

package stage

import (
	"reflect"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		mask         []uint64
		count, first uint64
		want         []uint64
	}{
		{[]uint64{0b11}, 1, 1, []uint64{0b10}},
		{[]uint64{0b1101}, 2, 1, []uint64{0b1100}},
		{[]uint64{0b1101}, 2, 3, []uint64{0b1001}},
		{[]uint64{0b11, 0b11}, 3, 65, []uint64{0b11, 0b10}},
		{[]uint64{0b11}, 5, 0, []uint64{0b11}},
		{[]uint64{0b11}, 1, 200, []uint64{0b1}},
		{nil, 1, 0, []uint64{}},
	} {
		if got := choose(c.mask, c.count, c.first); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%b, %d from %d: %b, want %b", c.mask, c.count, c.first, got, c.want)
		}
	}
}

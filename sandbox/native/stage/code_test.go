package stage

import (
	"reflect"
	"testing"
)

var full = &Config{
	Mounts: []Mount{
		{Source: "/usr", Target: "/usr", Dir: true, Attr: 7},
		{Target: "/tmp", Dir: true, Attr: 1 << 40, Options: [][2]string{{"size", "1"}, {"mode", "0700"}}},
	},
	Links:    []Link{{"usr/bin", "/bin"}},
	Files:    []File{{"/etc/passwd", "a\x00\xff\n"}},
	Dir:      "/workspace",
	UID:      65534,
	SetID:    true,
	Landlock: &Landlock{FS: 1, Net: 2, Scoped: 3, Rules: []Rule{{"/", 4}}},
	CPUs:     []uint64{1 << 63},
	CPUCount: 1,
	Rlimits:  []Rlimit{{1, 2}, {3, 1<<64 - 1}},
	Seccomp:  "\x06\x00",
	Sharing:  "\x16\x00",
	Path:     "/usr/bin/python3",
	Argv:     []string{"python3", ""},
	Env:      []string{"A=b"},
}

func TestEncode(t *testing.T) {
	text := Encode(full)
	var got Config
	if err := Decode(text, &got); err != nil || !reflect.DeepEqual(&got, full) {
		t.Errorf("%+v, want %+v (%v)", got, full, err)
	}
	for n := range text {
		if err := Decode(text[:n], new(Config)); err == nil {
			t.Errorf("%d of %d bytes are decoded", n, len(text))
		}
	}
	v := reflect.ValueOf(full).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not tested", v.Type().Field(i).Name)
		}
	}
}

func TestEncodeEmpty(t *testing.T) {
	got := Config{}
	if err := Decode(Encode(&Config{}), &got); err != nil || got.Landlock != nil {
		t.Errorf("%+v, %v", got, err)
	}
	f := Failure{}
	if err := Decode(Encode(&Failure{"mount", 1, "refused"}), &f); err != nil || f != (Failure{"mount", 1, "refused"}) {
		t.Errorf("%+v, %v", f, err)
	}
}

// FuzzDecode reads what is not an encoding.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(full))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := new(Config)
		if Decode(b, c) == nil && Decode(Encode(c), new(Config)) != nil {
			t.Error("what was decoded cannot be encoded")
		}
	})
}

package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"bridge/policy/strictjson"
)

// What servers could read differently is refused, with or without a rule for
// arguments; the rest is sent as it was meant.
func TestArguments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64)
	for sent, want := range map[string]string{
		``:      `{}`,
		` { } `: `{}`,
		` {"b" : [ 1,2 ,{}] , "a":null,"c":true,"d":false}` + "\n":                `{"b":[1,2,{}],"a":null,"c":true,"d":false}`,
		`{"n":[-0,0,-0.0,1.0,1e5,1E+5,0.1,12345678901234567890123456789.125]}`:    `{"n":[0,0,-0.0,1.0,1e5,1E+5,0.1,12345678901234567890123456789.125]}`,
		`{"s":"\u0041\u00e9\ud83d\ude00\/\"\\\n\u0000\u001f<>&` + "\u2028" + `"}`: `{"s":"Aé😀/\"\\\n\u0000\u001f<>&` + "\u2028" + `"}`,
		`{"\u0061":1}`: `{"a":1}`,
		deep:           deep,

		`null`:                      `args: not an object`,
		`[]`:                        `args: not an object`,
		`"x"`:                       `args: not an object`,
		`{}{}`:                      `args: something follows them, at byte 2`,
		`{} x`:                      `args: something follows them, at byte 3`,
		`{"a":1,"a":2}`:             `args.a: given twice`,
		`{"a":1,"\u0061":2}`:        `args.a: given twice`,
		`{"x":[{"b c":1,"b c":1}]}`: `args.x[0]."b c": given twice`,
		`{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"1":0}`: `args.1: given twice`,
		`{"a":NaN}`:                              `args.a: NaN is not a number in JSON`,
		`{"a":Infinity}`:                         `args.a: Infinity is not a number in JSON`,
		`{"a":-Infinity}`:                        `args.a: -Infinity is not a number in JSON`,
		`{"a":"\ud800"}`:                         `args.a: half of a surrogate pair, which is not a character`,
		`{"a":"\ude00\ud83d"}`:                   `args.a: half of a surrogate pair, which is not a character`,
		`{"a":"\ud83dx"}`:                        `args.a: half of a surrogate pair, which is not a character`,
		"{\"a\":\"\xff\"}":                       `args.a: not UTF-8`,
		"{\"a\":\"\\n\xed\xa0\x80\"}":            `args.a: not UTF-8`,
		"{\"a\":\"\n\"}":                         `args.a: malformed JSON, at byte 6`,
		`{"a":1e999999999}`:                      `args.a: a number of more than 400 digits, or with an exponent beyond 400`,
		`{"a":1e-99999999999999999999}`:          `args.a: a number of more than 400 digits, or with an exponent beyond 400`,
		`{"a":` + strings.Repeat("9", 401) + `}`: `args.a: a number of more than 400 digits, or with an exponent beyond 400`,
		`{"a":1e309}`:                            `args.a: a number beyond 2e+308, the largest that servers read`,
		`{"a":01}`:                               `args: malformed JSON, at byte 6`,
		`{"a":1.}`:                               `args.a: malformed JSON, at byte 7`,
		`{"a":.5}`:                               `args.a: malformed JSON, at byte 5`,
		`{"a":+1}`:                               `args.a: malformed JSON, at byte 5`,
		`{"a":1,}`:                               `args: malformed JSON, at byte 7`,
		`{"a":[1,]}`:                             `args.a[1]: malformed JSON, at byte 8`,
		`{'a':1}`:                                `args: malformed JSON, at byte 1`,
		`{a:1}`:                                  `args: malformed JSON, at byte 1`,
		`{"a" 1}`:                                `args.a: malformed JSON, at byte 5`,
		`{"a":"\x41"}`:                           `args.a: malformed JSON, at byte 6`,
		`{"a":"\u00g0"}`:                         `args.a: malformed JSON, at byte 6`,
		`{"a":"\`:                                `args.a: malformed JSON: it ends too early`,
		`{"a":"x`:                                `args.a: malformed JSON: it ends too early`,
		`{"a":`:                                  `args.a: malformed JSON: it ends too early`,
		`{`:                                      `args: malformed JSON: it ends too early`,
		`tru`:                                    `args: malformed JSON, at byte 0`,
		`{"a":` + deep + `}`:                     `args.a.a.a.a.a.a.a.a….a.a.a.a: nested deeper than 64`,
	} {
		for _, build := range []bool{false, true} {
			out, _, err := arguments([]byte(sent), build)
			got := string(out)
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%.200q\n got: %.200s\nwant: %.200s", sent, got, want)
			}
		}
	}
	long := `{"a":"` + strings.Repeat("x", strictjson.MaxBytes) + `"}`
	if _, _, err := arguments([]byte(long), false); err == nil || err.Error() != "args: 8388616 bytes; at most 8388608" {
		t.Errorf("%.100v", err)
	}
	many := `{"a":[` + strings.Repeat("0,", strictjson.MaxValues) + `0]}`
	if _, _, err := arguments([]byte(many), false); err != nil {
		t.Error(err)
	}
	if _, _, err := arguments([]byte(many), true); err == nil || err.Error() != "args: more than 4096 values, too many for a rule" {
		t.Errorf("%.100v", err)
	}
	var names strings.Builder
	for i := range strictjson.MaxNames/2 + 10 {
		fmt.Fprintf(&names, `"%d":0,`, i)
	}
	half := names.String()
	beside := `{"a":[{` + half + `"x":0},{` + half + `"x":0}]}`
	if _, _, err := arguments([]byte(beside), false); err != nil {
		t.Errorf("%.100v", err)
	}
	within := `{` + half + `"x":{` + half + `"x":0}}`
	if _, _, err := arguments([]byte(within), false); err == nil || err.Error() != "args: more than 100000 names in objects that are in each other" {
		t.Errorf("%.100v", err)
	}
}

// Whatever is sent on is JSON that says what was sent, and is itself sent on
// unchanged.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,-0.5e3,"\u00e9\ud83d\ude00\n",null,true,{"b":{}}]}`, `{"a":1,"a":2}`, `{"\ud800":1}`, "{\"\xff\":1}", `{"a":1e400}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		out, _, err := arguments(sent, true)
		if err != nil {
			return
		}
		if again, _, err := arguments(out, false); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q becomes %q, and that %q, %v", sent, out, again, err)
		}
		if len(sent) == 0 {
			return
		}
		var was, is any
		if err := decode(sent, &was); err != nil {
			t.Fatalf("%q: %v", sent, err)
		}
		if err := decode(out, &is); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		a, _ := json.Marshal(was)
		b, _ := json.Marshal(is)
		if unsigned(a) != unsigned(b) {
			t.Fatalf("%s was sent, and %s is", a, b)
		}
	})
}

// unsigned is the text without the signs of zeros, which go.
func unsigned(text []byte) string {
	return regexp.MustCompile(`([\[:,])-0([\],}])`).ReplaceAllString(regexp.MustCompile(`([\[:,])-0([\],}])`).ReplaceAllString(string(text), "${1}0$2"), "${1}0$2")
}

func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

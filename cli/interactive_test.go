package cli

import "testing"

func TestUnfinished(t *testing.T) {
	for code, want := range map[string]bool{
		"":                          false,
		"x = 1":                     false,
		"f(1,":                      true,
		"f(1,\n2)":                  false,
		"if x:":                     true,
		"if x:\n  y":                true,
		"if x:\n  y\n":              false,
		"if x:  # why":              true,
		"d = {1: 2}":                false,
		"d = {1:":                   true,
		"x[1:]":                     false,
		"s = 'a:'":                  false,
		"s = '''a":                  true,
		"s = '''a\n# b'''":          false,
		`s = "it's (`:               false,
		`s = "a\"(" `:               false,
		`x = 1 + \`:                 true,
		"@decorated":                true,
		"@decorated\ndef f(): pass": true,
		"print('#') # (":            false,
		"async with a as b:":        true,
		"# nothing:":                false,
		"for x in y: print(x)":      false,
		"f'{x:>3}'":                 false,
		`"""text"""`:                false,
	} {
		if got := unfinished(code); got != want {
			t.Errorf("%q: %v", code, got)
		}
	}
}

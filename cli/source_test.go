package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bridge/harness/project"
)

// A script is the text that Python takes it for, and is refused where Python
// refuses it: Python itself is asked.
func TestScriptsAreDecodedAsPythonDoes(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		project.Skip(t, err, "; install Python 3.9 or later")
	}
	dir := t.TempDir()
	for name, test := range map[string]struct{ script, err string }{
		"utf-8":            {"x = 'é😀'", ""},
		"mark":             {"\ufeffx = 'é'", ""},
		"mark and cookie":  {"\ufeff# coding: utf-8\nx = 'é'", ""},
		"latin-1":          {"# coding: latin-1\nx = '\xe9\x80'", ""},
		"second line":      {"#!/usr/bin/python\n# -*- coding: iso-8859-15 -*-\nx = '\xa4'", ""},
		"after blank":      {"  \n# vim: set fileencoding=cp1252 :\nx = '\x80'", ""},
		"line ends":        {"# coding: latin_1\r\nx = '\xe9'\r\n", ""},
		"koi8-r":           {"# coding: koi8_r\nx = '\xc1'", ""},
		"shift_jis":        {"# coding: shift_jis\nx = '\x82\xa0'", ""},
		"gbk":              {"# coding=gbk\nx = '\xc4\xe3'", ""},
		"mac":              {"# coding: mac-roman\nx = '\x8e'", ""},
		"ascii":            {"# coding: ascii\nx = 'e'", ""},
		"utf-8-unix":       {"# -*- coding: utf-8-unix -*-\nx = 'é'", ""},
		"third line":       {"#\n#\n# coding: latin-1\nx = '\xe9'", "FILE:4: not UTF-8: byte 0xe9, and no encoding is declared; a first line such as \"# coding: latin-1\" declares one"},
		"after code":       {"y = 1\n# coding: latin-1\nx = '\xe9'", "FILE:3: not UTF-8: byte 0xe9, and no encoding is declared; a first line such as \"# coding: latin-1\" declares one"},
		"not utf-8":        {"x = '\xe9'", "FILE:1: not UTF-8: byte 0xe9, and no encoding is declared; a first line such as \"# coding: latin-1\" declares one"},
		"not as declared":  {"# coding: utf8\nx = '\xe9'", "FILE:2: not UTF-8: byte 0xe9, and the encoding that is declared is utf8"},
		"not ascii":        {"# coding: ascii\nx = 'é'", "FILE:2: not ascii, the encoding that is declared"},
		"not in cp1252":    {"# coding: cp1252\nx = '\x81'", "FILE:2: not cp1252, the encoding that is declared"},
		"unknown":          {"#!python\n# coding: klingon\nx = 'e'", `FILE:2: unknown encoding "klingon"`},
		"utf-16":           {"# coding: utf-16\nx = 'e'", `FILE:1: unknown encoding "utf-16"`},
		"mark and another": {"\ufeff# coding: latin-1\nx = 'e'", `FILE:1: encoding "latin-1" is declared, but the file begins with the mark of UTF-8`},
	} {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".py")
		if err := os.WriteFile(file, []byte(test.script+"\nprint(ascii(x), end='')\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		want, refused := exec.Command("python3", "-I", file).Output()
		code, err := decoded(file, []byte(test.script+"\nprint(ascii(x), end='')\n"))
		if (err != nil) != (refused != nil) {
			t.Errorf("%s: %v, and of Python %v", name, err, refused)
			continue
		}
		if err != nil {
			if got := strings.ReplaceAll(err.Error(), file, "FILE"); got != test.err {
				t.Errorf("%s: %s\nwant %s", name, got, test.err)
			}
			continue
		}
		python := exec.Command("python3", "-I", "-c", "import sys; exec(compile(sys.stdin.buffer.read().decode('utf-8'), 'x', 'exec'))")
		python.Stdin = strings.NewReader(code)
		if got, err := python.Output(); err != nil || string(got) != string(want) || test.err != "" {
			t.Errorf("%s: %s, %v; want %s %s", name, got, err, want, test.err)
		}
	}
}

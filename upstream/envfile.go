package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// maxEnvFile bounds a file of variables, in bytes.
const maxEnvFile = 1 << 20

// assignment is a line of such a file.
var assignment = regexp.MustCompile(`^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)$`)

// readEnvFile reads lines of NAME=value, as editors and shells have them: blank
// lines and those that begin with # say nothing; a value may stand in quotes,
// of which the double ones take \n, \" and \\; without, it ends at a #
// behind a space. Its errors hold no values.
func readEnvFile(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	var cause *os.PathError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("no such file")
	case errors.As(err, &cause):
		return nil, cause.Err
	case err != nil:
		return nil, err
	case len(text) > maxEnvFile:
		return nil, fmt.Errorf("%d bytes; at most %d", len(text), maxEnvFile)
	}
	variables := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxEnvFile+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d is not NAME=value", n)
		}
		variables[m[1]] = unquote(m[2])
	}
	return variables, lines.Err()
}

func unquote(value string) string {
	if value == "" {
		return ""
	}
	quote := value[0]
	if quote == '"' || quote == '\'' {
		for i := 1; i < len(value); i++ {
			switch {
			case quote == '"' && value[i] == '\\':
				i++
			case value[i] == quote:
				value = value[1:i]
				if quote == '"' {
					value = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(value)
				}
				return value
			}
		}
		return value // the quote is part of it
	}
	if i := strings.Index(value, " #"); i >= 0 {
		value = value[:i]
	}
	return strings.TrimSpace(value)
}

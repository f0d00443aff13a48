package upstream

import "os"

// Locate finds the program that a server would be started as, and starts
// nothing. Its error says why the server could not be started: a program, a
// folder or a variable that is not there.
func Locate(def Definition) (string, error) {
	spec, err := prepare(def, os.Environ())
	if err != nil {
		return "", err
	}
	return spec.redact.Replace(spec.Path), nil
}

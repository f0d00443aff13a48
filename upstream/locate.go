package upstream

import (
	"net/url"
	"os"

	"bridge/definition"
)

// Locate finds the program that a server would be started as, or the host that
// it is at, and starts nothing. Its error says why the server could not be
// started: a program, a folder or a variable that is not there.
func Locate(def definition.Server) (string, error) {
	if def.URL != "" {
		site, err := newSite(def, os.Environ(), "")
		if err != nil {
			return "", err
		}
		u, err := url.Parse(site.url)
		if err != nil {
			return "", err
		}
		return site.redact.Replace(u.Scheme + "://" + u.Host), nil
	}
	spec, err := prepare(def, os.Environ())
	if err != nil {
		return "", err
	}
	return spec.redact.Replace(spec.Path), nil
}

package cli

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"bridge/bridge"
	"bridge/policy"
	"bridge/sandbox/engines"
)

// origin is where the setup of a bridge comes from, and comes from again when
// the policy has changed.
type origin struct {
	choice  *choice
	log     *slog.Logger
	seen    string // the files as they were when they were last read
	profile *policy.Profile
	engine  *engines.Chooser
	engines []*engines.Chooser // all that were in use
}

// setup is what the policies come to now.
func (o *origin) setup() (*bridge.Setup, error) {
	o.seen = o.state()
	p, err := o.choice.load()
	if err != nil {
		return nil, err
	}
	servers, err := o.choice.servers(p)
	if err != nil {
		return nil, err
	}
	o.choice.discovery.log(o.log)
	// An engine is what the profile names; what its sandboxes are like is told
	// with each of them.
	if o.engine == nil || o.profile.Engine != p.Engine {
		o.engine = o.choice.engine(p, o.log)
		o.engines = append(o.engines, o.engine)
	}
	o.profile = p
	kept, audit, err := state(p, o.log)
	if err != nil {
		return nil, err
	}
	return &bridge.Setup{Profile: p, Engine: o.engine, Servers: servers, Store: kept, Audit: audit}, nil
}

// reload is the setup if a file of the policies has changed since they were
// last read, or one of the configurations that servers are found in, else nil.
func (o *origin) reload() (*bridge.Setup, error) {
	if o.state() == o.seen && !o.choice.discovery.outdated() {
		return nil, nil
	}
	return o.setup()
}

// state describes the files of the policies without reading them.
func (o *origin) state() string {
	var b strings.Builder
	add := func(path string, st fs.FileInfo, err error) {
		if err != nil {
			fmt.Fprintf(&b, "%q %v\n", path, err)
			return
		}
		fmt.Fprintf(&b, "%q %d %d %v %s\n", path, st.Size(), st.ModTime().UnixNano(), st.Mode(), identity(st))
	}
	for _, path := range o.choice.paths() {
		st, err := os.Stat(path)
		add(path, st, err)
		if err != nil || !st.IsDir() {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(path, "*.cue"))
		for _, file := range files {
			st, err := os.Stat(file)
			add(file, st, err)
		}
	}
	return b.String()
}

// identity tells a file from another of its size and time, as package managers
// and links make them: by its number and the time of its last change, where the
// system has them.
func identity(st fs.FileInfo) string {
	var all []string
	is := reflect.Indirect(reflect.ValueOf(st.Sys()))
	for _, name := range []string{"Dev", "Ino", "Ctim", "Ctimespec"} {
		if is.Kind() != reflect.Struct {
			break
		}
		if field := is.FieldByName(name); field.IsValid() {
			all = append(all, fmt.Sprint(field.Interface()))
		}
	}
	return strings.Join(all, " ")
}

// close ends the engines.
func (o *origin) close() {
	for _, e := range o.engines {
		e.Close()
	}
}

package docker

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"bridge/sandbox/filter"
)

// nobody is the user and group of everything inside, unless the spec names
// others.
const nobody = "65534:65534"

// hidden are the paths that docker masks itself, whose list an own one takes
// the place of, and those that it shows and no session needs.
var hidden = []string{
	"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug",
	"/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
	"/sys", "/dev/mqueue", "/dev/pts", "/proc/version", "/proc/sysrq-trigger", "/proc/config.gz", "/proc/modules", "/proc/kallsyms",
	// The first process has the session's user, who must not rewrite it.
	"/proc/1/mem", "/proc/1/task/1/mem",
}

// secure settles what confines the processes: their user, and the security
// options of docker with those that the spec adds.
func (p *plan) secure() error {
	p.user = cmp.Or(p.spec.User, nobody)
	if !strings.Contains(p.user, ":") {
		p.user += ":" + p.user
	}
	numbers := strings.Split(p.user, ":")
	for _, number := range numbers {
		if n, err := strconv.ParseUint(number, 10, 31); err != nil || n == 0 || len(numbers) != 2 {
			return fmt.Errorf("user %q of the sandbox; name a user and a group by numbers above 0, such as %s", p.user, nobody)
		}
	}
	p.masked = slices.Clone(hidden)
	var err error
	if p.security, err = p.filters(); err != nil {
		return err
	}
	for _, option := range p.spec.SecurityOpt {
		name, value, _ := strings.Cut(option, "=")
		key, _, _ := strings.Cut(value, ":")
		switch {
		case option == "no-new-privileges":
		case name == "label" && slices.Contains([]string{"type", "user", "role", "level"}, key),
			name == "apparmor" && value != "" && value != "unconfined":
			p.security = append(p.security, option)
		case name == "mask" && path.IsAbs(value):
			p.masked = append(p.masked, value)
		default:
			// Docker takes the last of two, so that one could undo ours.
			return fmt.Errorf("security option %q would not add to what confines the sandbox; take it out", option)
		}
	}
	return nil
}

// filters are the security options that each sandbox has. An operator's own
// seccomp profile stays; docker's default is replaced by a narrower one, and so
// is none.
func (l *link) filters() ([]string, error) {
	options := []string{"no-new-privileges"}
	theirs, is := l.option("seccomp")
	if !is {
		return nil, errors.New("docker cannot filter system calls here; run it on a kernel with seccomp")
	}
	switch theirs = strings.TrimPrefix(theirs, "profile="); theirs {
	case "", "default", "builtin", "unconfined":
		ours, err := filter.Profile()
		if err != nil {
			return nil, err
		}
		if len(ours) > 0 {
			return append(options, "seccomp="+string(ours)), nil
		}
		if theirs == "unconfined" {
			return nil, errors.New("docker filters no system calls here; start dockerd without seccomp-profile unconfined")
		}
	}
	return options, nil
}

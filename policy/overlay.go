package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// overlaid names the file that an override is, beside those of the policy. No
// user's file can have such a name.
const overlaid = "\x00override "

// override is the profile with what the overrides make of it: each is one more
// file of the policy, so that whatever the policy says of the field holds for
// it as well, and so do fields that are computed from it.
func (p *Policy) override(usual *Profile, overrides []Override) (*Profile, error) {
	overrides = raised(overrides, usual.Timeout.Max)
	sources := slices.Clone(p.sources)
	chosen := map[string]string{}
	for _, o := range overrides {
		// Those of one variable are one file.
		text := fmt.Sprintf("profiles: %q: %s: %s\n", usual.Name, strings.Join(o.path, ": "), o.value)
		if last := &sources[len(sources)-1]; last.name == overlaid+o.Variable {
			text = string(last.data) + text
			sources = sources[:len(sources)-1]
		}
		sources = append(sources, source{overlaid + o.Variable, []byte(text)})
		chosen[strings.Join(o.path, ".")] = o.Variable
	}
	q, err := load(sources)
	if mistakes, ok := err.(Errors); ok {
		return nil, blame(mistakes, usual.Name, overrides)
	}
	if err != nil {
		return nil, err
	}
	profile := q.profiles[usual.Name]
	profile.chosen = chosen
	return profile, nil
}

// raised is the overrides, to which a timeout that is more than the maximum adds
// one of the maximum, unless that has its own.
func raised(overrides []Override, most time.Duration) []Override {
	usual, ok := same(overrides, []string{"timeout", "default"})
	maximum := Override{Variable: usual.Variable, path: []string{"timeout", "max"}, value: usual.value}
	if _, own := same(overrides, maximum.path); !ok || own || usual.number() <= int64(most/time.Second) {
		return overrides
	}
	at := slices.IndexFunc(overrides, func(o Override) bool { return o.Variable == usual.Variable })
	return slices.Insert(slices.Clone(overrides), at+1, maximum)
}

// blame says of mistakes that the policy does not have by itself which of the
// overrides bring them about, and which places of the policy they break.
func blame(mistakes Errors, profile string, overrides []Override) Errors {
	var errs Errors
	for _, e := range mistakes.byPath() {
		places, names := split(e.where)
		if len(names) == 0 {
			names = suspects(e.Path, profile, overrides)
		}
		if len(places) == 0 && len(names) == 1 {
			e.Pos = Pos{File: names[0]}
		} else {
			e.Pos = Pos{}
			e.Message += ": " + strings.Join(append(places, names...), ", ")
		}
		errs = append(errs, e)
	}
	return errs
}

// split tells places in the policy from the variables whose overrides are among
// the places.
func split(where []Pos) (places, names []string) {
	for _, pos := range where {
		name, ok := strings.CutPrefix(pos.File, overlaid)
		switch {
		case !ok:
			places = append(places, pos.String())
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return places, names
}

// suspects are the variables that set the field with a mistake. It may also be
// one that the policy computes from what any of them set.
func suspects(field, profile string, overrides []Override) []string {
	var own, all []string
	for _, o := range overrides {
		if field == pathString(append([]string{"profiles", profile}, o.path...)) {
			own = append(own, o.Variable)
		}
		all = append(all, o.Variable)
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// byPath is one mistake for each field that has some: with overrides several
// are the branches of a choice such as *256Mi | <=1Gi, none of which is met.
func (e Errors) byPath() Errors {
	var list Errors
	for _, m := range e {
		if len(m.values) > 0 {
			m.Message = conflict(m.values)
		}
		i := slices.IndexFunc(list, func(other Error) bool { return other.Path == m.Path })
		switch {
		case i < 0 || m.Path == "":
			list = append(list, m)
		case len(m.values) > 0 && len(list[i].values) > 0:
			list[i].add(m)
		case len(list[i].values) > 0:
			list[i] = m // a bound says more than that the value is another
		}
	}
	return list
}

// add puts the values of another conflict of the same field to those of e.
func (e *Error) add(other Error) {
	for _, v := range other.values {
		if !slices.Contains(e.values, v) {
			e.values = slices.Insert(e.values, len(e.values)-1, v)
		}
	}
	for _, pos := range other.where {
		if !slices.Contains(e.where, pos) {
			e.where = append(e.where, pos)
		}
	}
	e.Message = conflict(e.values)
}

func conflict(values []string) string {
	last := len(values) - 1
	return fmt.Sprintf("conflicting values %s and %s", strings.Join(values[:last], ", "), values[last])
}

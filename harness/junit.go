package harness

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// The elements of a JUnit report, as CI systems read it: the common part of
// Jenkins's junit-10.xsd and of what GitLab and GitHub's actions document.
type (
	junitReport struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		File    string       `xml:"file,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitDetail `xml:"failure"`
		Skipped *junitDetail `xml:"skipped"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
)

// JUnit writes the report as JUnit XML.
func (r *Report) JUnit(w io.Writer) error {
	var report junitReport
	for _, f := range r.folders {
		s := junitSuite{Name: filepath.ToSlash(f.name), Tests: len(f.trials), Time: seconds(f.took())}
		for _, t := range f.trials {
			if s.Timestamp == "" {
				s.Timestamp = t.began.UTC().Format("2006-01-02T15:04:05")
			}
			c := junitCase{Class: s.Name, Name: t.name, File: filepath.ToSlash(t.file), Time: seconds(t.took)}
			switch log := t.log.String(); t.verdict {
			case fail:
				s.Failures++
				c.Failure = &junitDetail{cause(log), clean(log)}
			case skip:
				s.Skipped++
				c.Skipped = &junitDetail{Message: t.reason}
			}
			s.Cases = append(s.Cases, c)
		}
		report.Suites = append(report.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// cause is the line of a log that says what has failed.
func cause(log string) string {
	for line := range strings.Lines(log) {
		if text, ok := strings.CutPrefix(line, "FAIL: "); ok {
			return strings.TrimSpace(text)
		}
	}
	return strings.TrimSpace(log)
}

// clean is text without what XML 1.0, section 2.2, does not allow: encoding/xml
// replaces that in attributes, and leaves it in CDATA.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

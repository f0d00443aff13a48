package upstream

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bridge/definition"
)

// tool is an entry whose parameters are each a name, or a name and a description.
func tool(server, name, description string, params ...string) Entry {
	properties := map[string]any{}
	for _, param := range params {
		name, hint, _ := strings.Cut(param, ": ")
		properties[name] = map[string]any{"type": "string", "description": hint}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		panic(err)
	}
	return Entry{Server: server, Tool: definition.Tool{Name: name, Description: description, InputSchema: schema}}
}

// shelf is a few tools of different servers, as their authors write them.
func shelf() []Entry {
	return []Entry{
		tool("github", "create_issue", "Open a new issue in a repository.", "owner", "repo", "title: Title of the issue"),
		tool("github", "list_issues", "List the issues of a repository.", "owner", "repo", "state: open or closed"),
		tool("github", "merge_pull_request", "Merge a pull request.", "owner", "repo", "pull_number"),
		tool("files", "readTextFile", "Read a file as text.", "path: Where it is"),
		tool("files", "delete-file", "Remove a file for good.", "path"),
		tool("files", "search_files", "Find files by a pattern of names.", "path", "excludePatterns"),
		tool("browser", "browser_take_screenshot", "Take a picture of the current page.", "filename"),
		tool("browser", "browser_navigate", "Go to an address.", "url: The address to go to"),
		tool("calendar", "list_events", "Upcoming events of a calendar.", "timeZone"),
		tool("calendar", "add_event", "Add an event. It may be an issue if events overlap.", "attendees: Whom to invite"),
		{Server: "odd", Tool: definition.Tool{Name: "odd", InputSchema: json.RawMessage(`{"properties":{"sky":true,"sea":7}}`)}},
		{Server: "odd", Tool: definition.Tool{Name: "nothing", InputSchema: json.RawMessage(`true`)}},
	}
}

func TestSearchFindsToolsByTheWordsOfPeople(t *testing.T) {
	index := indexed(t, shelf())
	for _, test := range []struct{ query, want string }{
		{"create issue", "github.create_issue"},
		{"issues creating", "github.create_issue"},
		{"make me a list of issues please", "github.list_issues"},
		{"read files", "files.readTextFile"},
		{"readTextFile", "files.readTextFile"},
		{"removing files", "files.delete-file"},
		{"delte file", "files.delete-file"},
		{"screnshot", "browser.browser_take_screenshot"},
		{"screenshto", "browser.browser_take_screenshot"},
		{"picture page", "browser.browser_take_screenshot"},
		{"calendar events", "calendar.list_events"},
		{"events calendar", "calendar.list_events"},
		{"calender", "calendar.list_events"},
		{"url", "browser.browser_navigate"},
		{"navig", "browser.browser_navigate"},
		{"time zone", "calendar.list_events"},
		{"exclude pattern", "files.search_files"},
		{"invite", "calendar.add_event"},
		{"MERGE PULL-REQUESTS", "github.merge_pull_request"},
		{"sky", "odd.odd"},
		// As models ask.
		{"create isue", "github.create_issue"},
		{"file a new ticket", "github.create_issue"},
		{"open a bug report", "github.create_issue"},
		{"show all issues", "github.list_issues"},
		{"merge PR", "github.merge_pull_request"},
		{"merging a pull request into main", "github.merge_pull_request"},
		{"fetch the content of a document", "files.readTextFile"},
		{"load text from disk file", "files.readTextFile"},
		{"erase a file", "files.delete-file"},
		{"find files by name", "files.search_files"},
		{"lookup file", "files.search_files"},
		{"capture image of page", "browser.browser_take_screenshot"},
		{"open website", "browser.browser_navigate"},
		{"go to url", "browser.browser_navigate"},
		{"upcoming meetings", "calendar.list_events"},
		{"schedule a new meeting with attendees", "calendar.add_event"},
		{"add appointment", "calendar.add_event"},
	} {
		hits := search(t, index, test.query, 5)
		if len(hits) == 0 || hits[0].Server+"."+hits[0].Tool.Name != test.want {
			t.Errorf("%q: %v, want %s first", test.query, titles(hits), test.want)
		}
	}
}

func TestSearchFindsToolsByOtherWordsForTheSame(t *testing.T) {
	index := indexed(t, append(shelf(),
		tool("web", "fetch", "Give a page of the internet as Markdown.", "url: What to get", "max_length"),
		tool("math", "get-sum", "Give the sum of two numbers.", "a: First number", "b: Second number"),
		tool("files", "write_file", "Write a file.", "path", "content"),
		tool("files", "make_folder", "Make a folder.", "path"),
		tool("files", "move", "Give a file another place.", "source", "destination"),
		tool("github", "add_issue_comment", "Add a comment to an issue.", "issue_number: Number of the issue", "body"),
		tool("github", "download_artifact", "Download what a workflow has made.", "artifact_id"),
		tool("github", "delete_label", "Delete a label.", "name"),
		tool("git", "add", "Add files to the index.", "files"),
		tool("git", "clone", "Clone a repository.", "url: Address of the repository"),
		tool("shop", "list_numbers", "List the numbers of orders.", "limit"),
		tool("db", "insert_row", "Insert a row into a table.", "table", "values"),
	))
	for _, test := range []struct{ query, want string }{
		{"download url", "web.fetch"},
		{"download a web page", "web.fetch"},
		{"get url", "web.fetch"},
		{"scrape website", "web.fetch"},
		{"http request", "web.fetch"},
		{"add numbers", "math.get-sum"},
		{"add two numbers", "math.get-sum"},
		{"plus", "math.get-sum"},
		{"arithmetic", "math.get-sum"},
		{"total of two numbers", "math.get-sum"},
		{"delete file", "files.delete-file"},
		{"unlink a file", "files.delete-file"},
		{"save a document", "files.write_file"},
		{"mkdir", "files.make_folder"},
		{"create directory", "files.make_folder"},
		{"rename file", "files.move"},
		{"add record to table", "db.insert_row"},
		// What is called so stays first.
		{"add comment", "github.add_issue_comment"},
		{"download artifact", "github.download_artifact"},
		{"add files", "git.add"},
		{"copy repository", "git.clone"},
		{"list numbers", "shop.list_numbers"},
		{"delete label", "github.delete_label"},
	} {
		hits := search(t, index, test.query, 5)
		if len(hits) == 0 || hits[0].Server+"."+hits[0].Tool.Name != test.want {
			t.Errorf("%q: %v, want %s first", test.query, titles(hits), test.want)
		}
	}
}

// An index takes of each tool what tells most, whatever a server sends.
func TestIndexIsBounded(t *testing.T) {
	entries := shelf()
	for i := range entries {
		entries[i].Tool.Description += strings.Repeat(" word", 100_000)
	}
	index, err := NewIndex(t.Context(), entries, maxWords)
	if err != nil {
		t.Fatal(err)
	}
	if most := float64(len(entries) * maxText); index.total > most {
		t.Errorf("%v words", index.total)
	}
	few, err := NewIndex(t.Context(), entries, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"merge pull request", "search files", "browser navigate"} {
		if hits := search(t, []*Index{few}, query, 1); len(hits) == 0 || hits[0].Tool.Name != search(t, []*Index{index}, query, 1)[0].Tool.Name {
			t.Errorf("%q: %v", query, titles(hits))
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := NewIndex(ended, entries, maxWords); err == nil {
		t.Error("an index was made after the end")
	}
	if _, err := Search(ended, []*Index{index}, "file", 1); err == nil {
		t.Error("a search went on after the end")
	}
}

// indexed is an index for each server of the entries.
func indexed(t testing.TB, entries []Entry) []*Index {
	t.Helper()
	byServer := map[string][]Entry{}
	for _, e := range entries {
		byServer[e.Server] = append(byServer[e.Server], e)
	}
	var list []*Index
	for _, entries := range byServer {
		index, err := NewIndex(t.Context(), entries, maxWords)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, index)
	}
	return list
}

func search(t testing.TB, indexes []*Index, query string, limit int) []Hit {
	t.Helper()
	hits, err := Search(t.Context(), indexes, query, limit)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func titles(hits []Hit) []string {
	var list []string
	for _, hit := range hits {
		list = append(list, hit.Server+"."+hit.Tool.Name)
	}
	return list
}

func TestSearchIsBoundedAndTheSameEachTime(t *testing.T) {
	entries := shelf()
	want := titles(search(t, indexed(t, entries), "file path repository issue", 100))
	slices.Reverse(entries)
	for range 20 {
		if got := titles(search(t, indexed(t, entries), "issue repository path file", 100)); !slices.Equal(got, want) {
			t.Fatalf("got %v, then %v", want, got)
		}
	}
	for limit, want := range map[int]int{-1: 0, 0: 0, 2: 2} {
		if got := search(t, indexed(t, entries), "file", limit); len(got) != want {
			t.Errorf("limit %d: %v", limit, titles(got))
		}
	}
	for _, query := range []string{"", "the", "?!", "xyzzy plugh"} {
		if got := search(t, indexed(t, entries), query, 5); len(got) != 0 {
			t.Errorf("%q: %v", query, titles(got))
		}
	}
	if got := search(t, indexed(t, nil), "file", 5); len(got) != 0 {
		t.Errorf("no entries: %v", titles(got))
	}
}

func TestScoresFall(t *testing.T) {
	hits := search(t, indexed(t, shelf()), "issue file event", 100)
	for i := 1; i < len(hits); i++ {
		if hits[i].Score > hits[i-1].Score || hits[i].Score <= 0 {
			t.Errorf("%v: %v after %v", hits[i].Tool.Name, hits[i].Score, hits[i-1].Score)
		}
	}
}

func TestFormsOfAWordHaveOneStem(t *testing.T) {
	for _, forms := range []string{
		"file files", "issue issues", "query queries", "run running runs", "create creating created creates",
		"list listing listed lists", "search searches searching", "fix fixes fixed", "delete deleted deleting",
		"process processes processing", "commit commits committed committing", "pass passes passed", "call calls calling",
		"branch branches", "address addresses", "apply applies applied applying", "get getting gets",
	} {
		words := strings.Fields(forms)
		for _, word := range words[1:] {
			if stem(word) != stem(words[0]) {
				t.Errorf("%s: %s, %s: %s", words[0], stem(words[0]), word, stem(word))
			}
		}
	}
	for _, pair := range []string{"string str", "bed b", "status stat", "thing th", "red r"} {
		a, b, _ := strings.Cut(pair, " ")
		if stem(a) == stem(b) {
			t.Errorf("%s and %s have the same stem %s", a, b, stem(a))
		}
	}
}

func TestNamesAreSplitAsPeopleReadThem(t *testing.T) {
	for name, want := range map[string]string{
		"camelCase": "camel Case", "HTTPServer": "HTTP Server", "base64": "base64", "getURL": "get URL", "x": "x", "": "", "ÄnderungÜber": "Änderung Über",
	} {
		if got := strings.Join(humps(name), " "); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestNearlyIsOneSlip(t *testing.T) {
	for pair, want := range map[string]bool{
		"branch branhc": true, "branch brnch": true, "branch braanch": true, "branch brench": true, "branch branch": true, "branches branch": false,
		"branch brhcna": false, "abcd abdc": true, "abc abd": false, "branch rbanch": true, "branch branchs": true,
	} {
		a, b, _ := strings.Cut(pair, " ")
		if nearly(a, b) != want || nearly(b, a) != want {
			t.Errorf("nearly(%s) = %v", pair, !want)
		}
	}
}

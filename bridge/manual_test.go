package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/tiktoken-go/tokenizer"

	"bridge/policy"
)

// The manual and the tool are read into an agent's context, so they are short whatever there
// is to tell.
func TestManualAndToolAreShort(t *testing.T) {
	p, err := policy.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := p.Profile("default")
	if err != nil {
		t.Fatal(err)
	}
	var many []mount
	for i := range 60 {
		name := "server-" + strings.Repeat("x", i)
		many = append(many, mount{Name: name, Alias: strings.ReplaceAll(name, "-", "_"), Description: strings.Repeat("words ", 50)})
	}
	// What nobody has ever written is cut into the most pieces.
	var odd []mount
	for i := range 20 {
		sum := sha256.Sum256([]byte{byte(i)})
		name := hex.EncodeToString(sum[:4])
		odd = append(odd, mount{Name: name, Alias: "_" + name, Description: "Ψηφιακά αρχεία 文件 🗂"})
	}
	o200k, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a-1.", 200)
	count := func(text string) int {
		n, err := o200k.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, servers := range [][]mount{nil, many[:1], many[:14], many, odd, {{Name: long, Alias: strings.Repeat("a_1_", 200)}}} {
		text := manual(profile, servers)
		if n := count(text); n > 400 {
			t.Errorf("%d tokens with %d servers, want at most 400:\n%s", n, len(servers), text)
		}
		answer, err := json.Marshal(mcp.ListToolsResult{Tools: []mcp.Tool{mcp.NewToolWithRawSchema("run_python", description(servers), schema(profile))}})
		if err != nil {
			t.Fatal(err)
		}
		if n := count(string(answer)); n > 200 {
			t.Errorf("%d tokens with %d servers, want at most 200:\n%s", n, len(servers), answer)
		}
	}
}

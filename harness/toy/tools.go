package toy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// BigInt is in the result of the tool structured: a reader that takes it for a
// float64 makes it 9007199254740992.
const BigInt = "9007199254740993"

func reads(name, description string, opts ...mcp.ToolOption) mcp.Tool {
	opts = append([]mcp.ToolOption{
		mcp.WithDescription(description),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false), mcp.WithOpenWorldHintAnnotation(false),
		mcp.WithSchemaAdditionalProperties(false),
	}, opts...)
	return mcp.NewTool(name, opts...)
}

func tools() []server.ServerTool {
	return []server.ServerTool{
		{Tool: reads("echo", "Give back a text.",
			mcp.WithString("text", mcp.Required(), mcp.Description("The text to give back."))), Handler: echo},
		{Tool: reads("add", "Add two numbers.",
			mcp.WithNumber("a", mcp.Required(), mcp.Description("The first number.")),
			mcp.WithNumber("b", mcp.Required(), mcp.Description("The second number."))), Handler: add},
		{Tool: mcp.NewTool("delete", mcp.WithDescription("Delete a file. Nothing is really deleted."),
			mcp.WithReadOnlyHintAnnotation(false), mcp.WithDestructiveHintAnnotation(true), mcp.WithSchemaAdditionalProperties(false),
			mcp.WithString("path", mcp.Required(), mcp.Description("The file's path."))), Handler: remove},
		{Tool: reads("sleep", "Wait, then say so. Ends at once when the call is cancelled.",
			mcp.WithNumber("seconds", mcp.Required(), mcp.Min(0), mcp.Description("How long."))), Handler: sleep},
		{Tool: reads("fail", "Fail with a message.",
			mcp.WithString("message", mcp.Required(), mcp.Description("What to fail with."))), Handler: fail},
		{Tool: reads("big", "Give back a text of many bytes.",
			mcp.WithInteger("bytes", mcp.Required(), mcp.Min(0), mcp.Description("The length of the text."))), Handler: big},
		{Tool: reads("image", "Draw a small PNG image.",
			mcp.WithString("colour", mcp.Enum("red", "green", "blue"), mcp.DefaultString("red"), mcp.Description("Its colour."))), Handler: draw},
		{Tool: mcp.NewTool("crash", mcp.WithDescription("End the server with exit status 3, without an answer."),
			mcp.WithReadOnlyHintAnnotation(false), mcp.WithSchemaAdditionalProperties(false)), Handler: crash},
		{Tool: reads("get_item", "Get one item by its number.",
			mcp.WithTitleAnnotation("Get item"), mcp.WithOutputSchema[item](),
			mcp.WithInteger("id", mcp.Required(), mcp.Min(1), mcp.Description("The item's number, from 1 to 5."))), Handler: getItem},
		{Tool: reads("list_items", "List the items, as JSON text.",
			mcp.WithInteger("limit", mcp.Min(1), mcp.Max(5), mcp.DefaultNumber(5), mcp.Description("At most so many.")),
			mcp.WithString("order", mcp.Enum("asc", "desc"), mcp.DefaultString("asc"), mcp.Description("By number, up or down."))), Handler: listItems},
		{Tool: reads("env", "Tell whether the server has an environment variable, and its value.",
			mcp.WithString("name", mcp.Required(), mcp.Description("The variable's name."))), Handler: env},
		{Tool: reads("structured", "Give structured content, with a number that no float64 holds.",
			mcp.WithRawOutputSchema(json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"big":{"type":"integer"}},"required":["text","big"]}`)),
			mcp.WithString("text", mcp.DefaultString("hello"), mcp.Description("A text to have in it."))), Handler: structured},
	}
}

type item struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind" jsonschema:"enum=fruit,enum=tool"`
}

var items = []item{{1, "apple", "fruit"}, {2, "hammer", "tool"}, {3, "pear", "fruit"}, {4, "saw", "tool"}, {5, "plum", "fruit"}}

func echo(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(req.GetString("text", "")), nil
}

func add(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(fmt.Sprint(req.GetFloat("a", 0) + req.GetFloat("b", 0))), nil
}

func remove(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("deleted " + req.GetString("path", "")), nil
}

func sleep(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	seconds := req.GetFloat("seconds", 0)
	select {
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		return mcp.NewToolResultText(fmt.Sprintf("slept %vs", seconds)), nil
	case <-ctx.Done():
		record("TOY_CANCELLED", "", "sleep")
		return nil, ctx.Err()
	}
}

func fail(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultError(req.GetString("message", "")), nil
}

func big(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(strings.Repeat("x", req.GetInt("bytes", 0))), nil
}

func draw(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := req.GetString("colour", "red")
	colours := map[string]color.RGBA{"red": {255, 0, 0, 255}, "green": {0, 255, 0, 255}, "blue": {0, 0, 255, 255}}
	picture := image.NewRGBA(image.Rect(0, 0, 8, 8))
	for i := range 64 {
		picture.Set(i%8, i/8, colours[name])
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		return nil, err
	}
	return mcp.NewToolResultImage("a "+name+" square", base64.StdEncoding.EncodeToString(file.Bytes()), "image/png"), nil
}

func crash(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	fmt.Fprintln(os.Stderr, "toy: crashing, as asked")
	os.Exit(3)
	return nil, nil
}

func getItem(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	id := req.GetInt("id", 0)
	if id < 1 || id > len(items) {
		return mcp.NewToolResultErrorf("no item %d; items: 1 to %d", id, len(items)), nil
	}
	return mcp.NewToolResultStructured(items[id-1], items[id-1].Name), nil
}

func listItems(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	list := slices.Clone(items)
	if req.GetString("order", "asc") == "desc" {
		slices.Reverse(list)
	}
	text, err := json.Marshal(list[:min(max(req.GetInt("limit", len(list)), 0), len(list))])
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(string(text)), nil
}

func env(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := req.GetString("name", "")
	value, set := os.LookupEnv(name)
	text := name + " is not set"
	if set {
		text = name + "=" + value
	}
	return mcp.NewToolResultStructured(map[string]any{"set": set, "value": value}, text), nil
}

func structured(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text := req.GetString("text", "hello")
	return mcp.NewToolResultStructured(map[string]any{"text": text, "big": json.Number(BigInt)}, text), nil
}

// growTool is the tool that adds another. The server tells its clients.
func growTool(srv *server.MCPServer) server.ServerTool {
	return server.ServerTool{
		Tool: mcp.NewTool("grow", mcp.WithDescription("Give the server one more tool, late.")),
		Handler: func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			srv.AddTool(reads("late", "Come late."), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("better late than never"), nil
			})
			return mcp.NewToolResultText("grown"), nil
		},
	}
}

// oddTool has a schema that many clients cannot read: it costs them the list.
func oddTool() server.ServerTool {
	schema := json.RawMessage(`{"type":["object","null"],"properties":{"text":true},"x-odd":` + BigInt + `}`)
	return server.ServerTool{Tool: mcp.NewToolWithRawSchema("odd", "Have an odd schema.", schema), Handler: echo}
}

// record adds a line to the file that a variable names, in one write: toys may
// share it. An empty name is not a file.
func record(variable, fallback, line string) {
	name, set := os.LookupEnv(variable)
	if !set {
		name = fallback
	}
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		fmt.Fprintf(os.Stderr, "toy: %v\n", err)
		return
	}
	defer f.Close()
	f.WriteString(line + "\n")
}

package program

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

// maxAsk is the maximum size of a request to a model, in bytes.
const maxAsk = 64 << 20

// A provider runs some tools itself and fetches what a request names by URL, with a network that
// the program does not have. These are the types of tools that a program runs itself; a tool
// without a type is one too, except Gemini's, of which that is the only kind.
var (
	local = lazyregexp.New(`^(?:function|custom|local_shell|apply_patch|tool_search|` +
		`(?:bash|text_editor|memory)_\d+|tool_search_tool_(?:regex|bm25)(?:_\d+)?)$`)
	localGemini = []string{"functionDeclarations", "function_declarations"}
	// outward are members of a request that make a provider use a network, by vendor.
	outward = []string{
		"mcp_servers",        // Anthropic
		"web_search_options", // OpenAI
		"plugins",            // OpenRouter
		"search_parameters",  // xAI
		"enable_search",      // Alibaba
	}
	// searching are models that search by themselves.
	searching = lazyregexp.New(`search|:online$|sonar|compound`)
	// Methods of Gemini's models, besides reading them.
	generates = lazyregexp.New(`:(?:generateContent|streamGenerateContent|countTokens|embedContent)$`)
)

// within reads a request to a model, and returns why it is refused: it would let the provider use a
// network for the program, or cannot be read.
func within(w http.ResponseWriter, r *http.Request) (why string) {
	if r.Header.Get("Upgrade") != "" {
		return "no plain request"
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAsk))
	if err != nil {
		return "its body: " + err.Error()
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		return ""
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return "a compressed body"
	}
	var ask map[string]any
	err = json.Unmarshal(body, &ask)
	if err == nil {
		err = unique(json.NewDecoder(bytes.NewReader(body)))
	}
	if err != nil {
		return "its body: " + err.Error()
	}
	for _, name := range outward {
		if v := ask[name]; v != nil && v != false {
			return name
		}
	}
	if model, _ := ask["model"].(string); searching.MatchString(model) {
		return "a model that searches: " + model
	}
	_, method, gemini := strings.Cut(r.URL.Path, "/models/")
	if gemini && !generates.MatchString(method) {
		return "no request for an answer"
	}
	if why := remoteTool(ask["tools"], gemini); why != "" {
		return why
	}
	if input, ok := ask["input"].([]any); ok {
		for _, item := range input {
			if item, ok := item.(map[string]any); ok { // tools that were looked up
				if why := remoteTool(item["tools"], false); why != "" {
					return why
				}
			}
		}
	}
	delete(ask, "tools")
	return fetched(ask)
}

// unique refuses a name that an object has twice: the provider could read the other value.
func unique(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil || token != json.Delim('{') && token != json.Delim('[') {
		return err
	}
	names := map[any]bool{}
	for d.More() {
		if token == json.Delim('{') {
			name, err := d.Token()
			if err != nil || names[name] {
				return cmp.Or(err, fmt.Errorf("two members %q", name))
			}
			names[name] = true
		}
		if err := unique(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// remoteTool returns the first of the tools that the provider would run, "" if there is none.
func remoteTool(tools any, gemini bool) string {
	if tools == nil {
		return ""
	}
	list, ok := tools.([]any)
	if !ok {
		return "tools that are not a list"
	}
	for _, t := range list {
		tool, ok := t.(map[string]any)
		if !ok {
			return "a tool that is not an object"
		}
		if gemini {
			for name, v := range tool {
				if !slices.Contains(localGemini, name) && v != nil {
					return "the tool " + name
				}
			}
			continue
		}
		switch kind := tool["type"]; {
		case kind == "namespace": // of several tools
			if why := remoteTool(tool["tools"], false); why != "" {
				return why
			}
		case kind != nil && !local.MatchString(fmt.Sprint(kind)):
			return fmt.Sprint("the tool ", kind)
		}
	}
	return ""
}

// fetched returns the first address that the provider would fetch for a request, "" if there is
// none. What tools were called with, and returned as data, it does not fetch.
func fetched(v any) string {
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			if why := fetched(each); why != "" {
				return why
			}
		}
	case map[string]any:
		for key, value := range v {
			at, _ := value.(map[string]any)
			url, _ := value.(string)
			switch key {
			case "args", "arguments", "response", "input_schema", "schema":
				continue
			case "input":
				if v["type"] == "tool_use" {
					continue
				}
			case "source":
				if at["type"] == "url" {
					return "an address to fetch"
				}
			case "image_url", "file_url", "video_url", "fileUri", "file_uri":
				if at != nil {
					url, _ = at["url"].(string)
				}
				if url != "" && !strings.HasPrefix(url, "data:") {
					return "an address to fetch"
				}
			}
			if why := fetched(value); why != "" {
				return why
			}
		}
	}
	return ""
}

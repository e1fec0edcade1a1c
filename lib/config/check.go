package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"tri/lib/sysexit"
	"tri/schemas"
)

// check holds the file to schemas/config.json and names every fault with its line.
func check(path string, doc *yaml.Node) error {
	var value any
	if err := doc.Decode(&value); err != nil {
		return yamlError(path, err)
	}
	if value == nil {
		return nil
	}
	schema, err := schema()
	if err != nil {
		return err
	}
	invalid := new(jsonschema.ValidationError)
	if err := schema.Validate(plain(value)); err == nil {
		return nil
	} else if !errors.As(err, &invalid) {
		return err
	}
	var faults []error
	for _, f := range leaves(invalid) {
		faults = append(faults, named(path, doc, f)...)
	}
	return errors.Join(faults...)
}

func schema() (*jsonschema.Schema, error) {
	text, err := schemas.Read("config")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read config schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		return nil, fmt.Errorf("read config schema: %w", err)
	}
	return c.Compile("config.json")
}

// plain gives YAML's values the types of JSON's.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	case map[any]any:
		m := map[string]any{}
		for k := range v {
			m[fmt.Sprint(k)] = plain(v[k])
		}
		return m
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case int:
		return float64(v)
	}
	return v
}

func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		all = append(all, leaves(c)...)
	}
	return all
}

func named(path string, doc *yaml.Node, e *jsonschema.ValidationError) []error {
	at := func(key string) int { return lineOf(doc, append(slices.Clone(e.InstanceLocation), key)) }
	where := strings.Join(e.InstanceLocation, ".")
	unknown, ok := e.ErrorKind.(*kind.AdditionalProperties)
	if !ok {
		text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		return []error{fmt.Errorf("%s:%d: %s: %s", path, lineOf(doc, e.InstanceLocation), where, text)}
	}
	var faults []error
	for _, key := range unknown.Properties {
		err := fmt.Errorf("%s:%d: unknown key %q", path, at(key), strings.TrimPrefix(where+"."+key, "."))
		if near := nearest(key, keysAt(e.InstanceLocation)); near != "" {
			err = sysexit.Hint(err, fmt.Sprintf("line %d: did you mean %q?", at(key), near))
		}
		faults = append(faults, err)
	}
	return faults
}

// find walks to the node at a path of keys and indexes; key is the mapping key's
// own node, where there is one.
func find(doc *yaml.Node, path []string) (key, value *yaml.Node) {
	value = doc
	if value.Kind == yaml.DocumentNode && len(value.Content) > 0 {
		value = value.Content[0]
	}
	for _, step := range path {
		for value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		var next *yaml.Node
		switch value.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(value.Content); i += 2 {
				if value.Content[i].Value == step {
					key, next = value.Content[i], value.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if n, err := strconv.Atoi(step); err == nil && n < len(value.Content) {
				next = value.Content[n]
				key = next
			}
		}
		if next == nil {
			return key, value
		}
		value = next
	}
	return key, value
}

func lineOf(doc *yaml.Node, path []string) int {
	key, value := find(doc, path)
	if key != nil {
		return key.Line
	}
	return value.Line
}

// keysAt are the keys that the schema knows at a place.
func keysAt(path []string) []string {
	text, err := schemas.Read("config")
	if err != nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	at, _ := value.(map[string]any)
	for _, step := range path {
		next, ok := member(at, "properties")[step].(map[string]any)
		if !ok {
			next = member(at, "items")
		}
		at = next
	}
	var keys []string
	for k := range member(at, "properties") {
		keys = append(keys, k)
	}
	return keys
}

func member(m map[string]any, key string) map[string]any {
	v, _ := m[key].(map[string]any)
	return v
}

// nearest is the known key that a mistyped one most likely means, "" when none is
// near.
func nearest(key string, known []string) string {
	best, least := "", len(key)/3+2
	slices.Sort(known)
	for _, k := range known {
		if d := distance(key, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// compile names, with its line, what the schema cannot see.
func (c *Config) compile(path string, doc *yaml.Node) error {
	var faults []error
	for i, p := range c.Classifier.AckPatterns {
		if _, err := regexp.Compile(p); err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: ack_patterns: %w", path, lineOf(doc, []string{"classifier", "ack_patterns", strconv.Itoa(i)}), err))
		}
	}
	names := map[string]bool{}
	for _, b := range c.Codebases {
		names[b.Name] = true
	}
	for i, chat := range c.WatchedChats {
		if chat.Codebase != "" && !names[chat.Codebase] {
			faults = append(faults, fmt.Errorf("%s:%d: no codebase is called %q", path, lineOf(doc, []string{"watched_chats", strconv.Itoa(i), "codebase"}), chat.Codebase))
		}
	}
	return sysexit.With(sysexit.Config, errors.Join(faults...))
}

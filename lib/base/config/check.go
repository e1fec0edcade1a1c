package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tri/lib/base/sysexit"
	"tri/schemas"
)

// rule is the part of JSON Schema that schemas/config.json uses. Every program reads the
// configuration, and a schema library would cost each start some milliseconds; walking YAML's
// nodes also gives each fault its line. A test compares this implementation with a complete
// library.
type rule struct {
	Schema, ID, Title, Description string

	Type                 types
	Enum                 []string
	Properties           map[string]*rule
	AdditionalProperties *bool
	MinProperties        int
	Required             []string
	Items                *rule
	Minimum, Maximum     *float64
	MinLength            int
	Pattern              string
}

// types is a type or a list of types.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		b = append(append([]byte("["), b...), ']')
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// theRule reads the schema. An unknown keyword is an error.
func theRule() (*rule, error) {
	text, err := schemas.Read("config")
	if err != nil {
		return nil, fmt.Errorf("read config schema: %w", err)
	}
	text = bytes.Replace(text, []byte(`"$schema"`), []byte(`"schema"`), 1)
	text = bytes.Replace(text, []byte(`"$id"`), []byte(`"id"`), 1)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	r := new(rule)
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("read config schema: %w", err)
	}
	return r, nil
}

// Values returns what completes the value of a flag that is named as a field of a section: the values
// that the schema allows.
func Values(section ...string) func(flag string) []string {
	return func(flag string) []string {
		r, err := theRule()
		if err != nil {
			return nil // Parse reports it
		}
		for _, name := range append(section, flag) {
			if r = r.Properties[name]; r == nil {
				return nil
			}
		}
		return slices.DeleteFunc(r.Enum, func(value string) bool { return value == "" })
	}
}

// check validates a value against its rule. where is its name: team.approvers.0.
func (f *faults) check(n *yaml.Node, r *rule, where string) {
	got := typeOf(n)
	switch {
	case got == "null" && !strings.HasSuffix(where, "]"):
		return // a key without a value counts as absent
	case len(r.Type) > 0 && !slices.Contains(r.Type, got) &&
		!(got == "integer" && slices.Contains(r.Type, "number")):
		f.say(n, where, wrongType(got, r.Type))
		return
	}
	switch got {
	case "object":
		f.checkObject(n, r, where)
	case "array":
		for i, item := range n.Content {
			f.check(item, r.Items, fmt.Sprintf("%s[%d]", where, i))
		}
	case "integer", "number":
		f.checkNumber(n, r, where)
	case "string":
		f.checkText(n, r, where)
	}
}

func (f *faults) checkObject(n *yaml.Node, r *rule, where string) {
	seen, said := map[string]int{}, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := strings.TrimPrefix(where+"."+key.Value, ".")
		known := r.Properties[key.Value]
		switch first, again := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			f.say(key, where, "a key should be text")
		case again:
			f.say(key, name, fmt.Sprintf("is already set in line %d", first))
		case known == nil:
			f.say(key, "", unknownKey(name, key.Value, slices.Collect(maps.Keys(r.Properties))))
		default:
			f.check(value, known, name)
		}
		seen[key.Value] = key.Line
		said[key.Value] = typeOf(value) != "null"
	}
	for _, key := range r.Required {
		if !said[key] {
			f.say(n, where, "lacks "+key)
		}
	}
	if len(seen) < r.MinProperties {
		f.say(n, where, "is empty")
	}
}

func unknownKey(name, key string, known []string) string {
	text := fmt.Sprintf("unknown key %q", name)
	if near := sysexit.Nearest(key, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

func (f *faults) checkNumber(n *yaml.Node, r *rule, where string) {
	var v float64
	switch err := n.Decode(&v); {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		f.say(n, where, fmt.Sprintf("is %s, should be a number", n.Value))
	case r.Minimum != nil && v < *r.Minimum:
		f.say(n, where, fmt.Sprintf("is %s, should be at least %v", n.Value, *r.Minimum))
	case r.Maximum != nil && v > *r.Maximum:
		f.say(n, where, fmt.Sprintf("is %s, should be at most %v", n.Value, *r.Maximum))
	}
}

func (f *faults) checkText(n *yaml.Node, r *rule, where string) {
	switch {
	case len(r.Enum) > 0 && !slices.Contains(r.Enum, n.Value):
		f.say(n, where, fmt.Sprintf("is %q, should be one of: %s", n.Value, strings.Join(r.Enum, ", ")))
	case utf8.RuneCountInString(n.Value) < r.MinLength:
		f.say(n, where, "is too short")
	case r.Pattern != "" && !regexp.MustCompile(r.Pattern).MatchString(n.Value):
		f.say(n, where, fmt.Sprintf("is %q, should match %s", n.Value, r.Pattern))
	}
}

// typeOf returns the JSON type of a value, or the YAML name of a type that JSON lacks.
func typeOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "object"
	case yaml.SequenceNode:
		return "array"
	case yaml.AliasNode:
		return "alias *" + n.Value
	}
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp": // a date without quotes is a string
		return "string"
	case "!!int":
		return "integer"
	case "!!float":
		return "number"
	case "!!bool":
		return "boolean"
	case "!!null":
		return "null"
	default:
		return tag
	}
}

// wrongType describes a type error in terms of YAML.
func wrongType(got string, want types) string {
	names := map[string]string{
		"string": "text", "object": "a set of keys", "array": "a list", "integer": "a whole number",
		"number": "a number", "boolean": "true or false", "null": "nothing",
	}
	want = slices.DeleteFunc(slices.Clone(want), func(t string) bool { return t == "null" })
	if strings.HasPrefix(got, "alias ") {
		return got + ": write out what it stands for" // this also prevents alias bombs
	}
	text := fmt.Sprintf("is %s, should be %s", cmp.Or(names[got], got), names[want[0]])
	if want[0] == "string" && (got == "number" || got == "integer" || got == "boolean") {
		text += ": put it in quotes"
	}
	return text
}

// find returns the node at a path of keys and indexes. key is the mapping key's node, if there is
// one.
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
	return cmp.Or(key, value).Line
}
